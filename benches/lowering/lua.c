/* Drives Lua: calls, tables, strings, closures and sorting. Prints a sum, to be the same for every build, and its CPU time.
   Started by `cargo xtask bench lowering`. */
#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"
#include <stdio.h>
#include <time.h>

static const char program[] =
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\n"
    "local total = fib(30)\n"
    "for round = 1, 4 do\n"
    "  local rows = {}\n"
    "  for i = 1, 100000 do rows[i] = { key = (i * 7919) % 100003, name = 'row ' .. i } end\n"
    "  table.sort(rows, function(a, b) return a.key < b.key end)\n"
    "  for i, row in ipairs(rows) do total = total + row.key * (i % 3) + #row.name end\n"
    "  local words = {}\n"
    "  for word in string.gmatch(string.rep('the quick brown fox ', 20000), '%a+') do\n"
    "    words[word] = (words[word] or 0) + 1\n"
    "  end\n"
    "  for _, count in pairs(words) do total = total + count end\n"
    "end\n"
    "return total\n";

int main(void) {
    lua_State *lua = luaL_newstate();
    luaL_openlibs(lua);
    if (luaL_dostring(lua, program) != LUA_OK) {
        fprintf(stderr, "%s\n", lua_tostring(lua, -1));
        return 1;
    }
    long long sum = (long long)lua_tonumber(lua, -1);
    lua_close(lua);
    printf("sum=%lld seconds=%.3f\n", sum, (double)clock() / CLOCKS_PER_SEC);
}
