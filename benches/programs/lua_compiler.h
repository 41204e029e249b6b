/* The script that lua.c runs, and the compiler from it to the code of lua.c's machine: one pass, by recursive
 * descent. It makes no objects.
 */
#ifndef LUA_COMPILER_H
#define LUA_COMPILER_H

/* The host sets the first three globals: seed, rounds and depth. */
static const char script[] =
    "function random(n) seed = (seed * 1103 + 12345) % 1000003 return seed % n end\n"
    "function tree(depth, parent)\n"
    "  local node = {parent = parent, depth = depth}\n"
    "  if depth > 0 then node.left = tree(depth - 1, node) node.right = tree(depth - 1, node) end\n"
    "  return node\n"
    "end\n"
    "function count(node)\n"
    "  if node == nil then return 0 end\n"
    "  return 1 + count(node.left) + count(node.right)\n"
    "end\n"
    "function account(balance)\n"
    "  local self = {log = {}}\n"
    "  self.deposit = function(amount)\n"
    "    balance = balance + amount\n"
    "    self.log[#self.log + 1] = amount\n"
    "    return balance\n"
    "  end\n"
    "  self.balance = function() return balance end\n"
    "  return self\n"
    "end\n"
    "function memoized(f)\n"
    "  local known = {}\n"
    "  return function(n)\n"
    "    local value = known[n]\n"
    "    if value == nil then value = f(n) known[n] = value end\n"
    "    return value\n"
    "  end\n"
    "end\n"
    "function histogram(words)\n"
    "  local counts = {} local text = \"\"\n"
    "  for i = 1, words do\n"
    "    local word = \"word \" .. random(depth * 8)\n"
    "    counts[word] = (counts[word] or 0) + 1\n"
    "    text = text .. word\n"
    "    if #text > 200 then text = \"\" end\n"
    "  end\n"
    "  local most = 0\n"
    "  for i = 0, depth * 8 - 1 do\n"
    "    local found = counts[\"word \" .. i]\n"
    "    if found and found > most then most = found end\n"
    "  end\n"
    "  return most * 1000 + #text\n"
    "end\n"
    "function sort(list, is_before)\n"
    "  for i = 2, #list do\n"
    "    local item = list[i] local place = i\n"
    "    while place > 1 and is_before(item, list[place - 1]) do\n"
    "      list[place] = list[place - 1]\n"
    "      place = place - 1\n"
    "    end\n"
    "    list[place] = item\n"
    "  end\n"
    "end\n"
    "local total = 0\n"
    "for round = 1, rounds do\n"
    "  total = total + count(tree(depth, nil))\n"
    "  local mine = account(100)\n"
    "  for i = 1, depth * 3 do mine.deposit(random(100)) end\n"
    "  total = total + mine.balance() + #mine.log\n"
    "  local fibonacci = nil\n"
    "  fibonacci = memoized(function(n) if n < 2 then return n end return fibonacci(n - 1) + fibonacci(n - 2) end)\n"
    "  total = total + fibonacci(depth * 5) % 1000 + histogram(depth * 30)\n"
    "  local list = {}\n"
    "  for i = 1, depth * 8 do list[i] = {key = random(1000), number = i} end\n"
    "  sort(list, function(a, b) return a.key < b.key end)\n"
    "  total = total + list[1].key * 3 + list[#list].number\n"
    "end\n"
    "return total\n";

enum { NAME, NUMERAL, QUOTED, SYMBOL, END };
enum { WORD_MAX = 20, LOCALS_MAX = 16 };
static struct {
    int kind;
    long number;
    char text[WORD_MAX];
} token;
static const char *source;

/* The variables of a function that is being compiled. */
typedef struct Scope {
    struct Scope *outer;
    Function *function;
    char names[LOCALS_MAX][WORD_MAX];
    int count;
} Scope;
static Scope *scope;
static char constants[NAMES_MAX][WORD_MAX], globals[NAMES_MAX][WORD_MAX];

static void fail(const char *what) {
    fprintf(stderr, "lua: %s at `%s` before `%.20s`\n", what, token.text, source);
    exit(1);
}

static void next_token(void) {
    while (*source == ' ' || *source == '\n') source++;
    const char *from = source;
    int is_word = 0;
    while ((*source >= 'a' && *source <= 'z') || *source == '_') source++, is_word = 1;
    token.kind = is_word ? NAME : SYMBOL;
    if (!is_word && *source >= '0' && *source <= '9') {
        char *end;
        token.kind = NUMERAL;
        token.number = strtol(source, &end, 10);
        source = end;
    } else if (*source == '"' && !is_word) {
        token.kind = QUOTED;
        from = ++source;
        while (*source != '"') source++;
    } else if (!is_word) {
        token.kind = *source ? SYMBOL : END;
        int is_double = source[0] && source[1] && strchr("=~<>.", source[0]) && source[1] == (source[0] == '.' ? '.' : '=');
        source += is_double ? 2 : *source ? 1 : 0;
    }
    size_t length = source - from;
    if (length >= WORD_MAX) fail("too long a word");
    memcpy(token.text, from, length);
    token.text[length] = 0;
    if (token.kind == QUOTED) source++;
}

static int is(const char *text) { return token.kind != QUOTED && strcmp(token.text, text) == 0; }

static int accept(const char *text) {
    if (!is(text)) return 0;
    next_token();
    return 1;
}

static void expect(const char *text) {
    if (!accept(text)) fail(text);
}

static void emit(int word) {
    if (scope->function->length == CODE_MAX) fail("too long a function");
    scope->function->code[scope->function->length++] = word;
}

static int number_in(char names[][WORD_MAX], int *count, const char *name) {
    for (int i = 0; i < *count; i++)
        if (strcmp(names[i], name) == 0) return i;
    if (*count == NAMES_MAX) fail("too many names");
    strcpy(names[*count], name);
    return (*count)++;
}

static void emit_constant(const char *text) {
    emit(CONSTANT);
    emit(number_in(constants, &constant_count, text));
}

static int declare(const char *name) {
    if (scope->count == LOCALS_MAX) fail("too many variables");
    strcpy(scope->names[scope->count++], name);
    if (scope->count > scope->function->slots) scope->function->slots = scope->count;
    return scope->count - 1;
}

static void emit_local(int operation, int depth, int slot) {
    emit(operation);
    emit(depth);
    emit(slot);
}

/* Emits a jump and returns where its distance stands; it is set when the target is known. */
static int emit_jump(int operation) {
    emit(operation);
    emit(0);
    return scope->function->length - 1;
}
static void land(int jump) { scope->function->code[jump] = scope->function->length - jump; }
static void emit_jump_back(int target) {
    emit(JUMP);
    emit(target - scope->function->length);
}

/* What may be read or assigned to: a variable, or the table and the key that lie on the stack; or only a value. */
typedef struct Reference {
    enum { A_LOCAL, A_GLOBAL, AN_ELEMENT, A_VALUE } kind;
    int depth, slot;
} Reference;

static Reference variable(const char *name) {
    int depth = 0;
    for (Scope *at = scope; at; at = at->outer, depth++)
        for (int slot = at->count - 1; slot >= 0; slot--)
            if (strcmp(at->names[slot], name) == 0) return (Reference){A_LOCAL, depth, slot};
    return (Reference){A_GLOBAL, 0, number_in(globals, &global_count, name)};
}

static void load(Reference reference) {
    if (reference.kind == A_LOCAL) emit_local(LOCAL, reference.depth, reference.slot);
    if (reference.kind == A_GLOBAL) emit(GLOBAL), emit(reference.slot);
    if (reference.kind == AN_ELEMENT) emit(INDEX);
}

static void store(Reference reference) {
    if (reference.kind == A_LOCAL) emit_local(SET_LOCAL, reference.depth, reference.slot);
    if (reference.kind == A_GLOBAL) emit(SET_GLOBAL), emit(reference.slot);
    if (reference.kind == AN_ELEMENT) emit(SET_INDEX);
    if (reference.kind == A_VALUE) fail("no variable");
}

static void expression(int level);
static void block(void);

static void function_body(void) {
    if (function_count == FUNCTIONS_MAX) fail("too many functions");
    int number = function_count++;
    Scope inner = {.outer = scope, .function = &functions[number]};
    scope = &inner;
    expect("(");
    while (!accept(")")) {
        declare(token.text);
        inner.function->parameters++;
        next_token();
        accept(",");
    }
    block();
    emit(WORD), emit(NIL), emit(RETURN);
    scope = inner.outer;
    expect("end");
    emit(MAKE), emit(number);
}

/* `{name = value, …}`; each assignment needs the table once more, which a hidden variable holds. */
static void table_constructor(void) {
    int slot = declare("(table)");
    emit(NEW_TABLE);
    emit_local(SET_LOCAL, 0, slot);
    while (!accept("}")) {
        emit_local(LOCAL, 0, slot);
        emit_constant(token.text);
        next_token();
        expect("=");
        expression(0);
        emit(SET_INDEX);
        accept(",");
    }
    emit_local(LOCAL, 0, slot);
    emit(WORD), emit(NIL);
    emit_local(SET_LOCAL, 0, slot);
    scope->count--;
}

static Reference suffixed(void) {
    Reference reference = {A_VALUE, 0, 0};
    if (accept("(")) {
        expression(0);
        expect(")");
    } else if (token.kind == NAME) {
        reference = variable(token.text);
        next_token();
    } else {
        fail("a value is missing");
    }
    for (;;) {
        if (accept(".")) {
            load(reference);
            emit_constant(token.text);
            next_token();
            reference.kind = AN_ELEMENT;
        } else if (accept("[")) {
            load(reference);
            expression(0);
            expect("]");
            reference.kind = AN_ELEMENT;
        } else if (accept("(")) {
            int arguments = 0;
            load(reference);
            for (; !accept(")"); arguments++, accept(",")) expression(0);
            emit(CALL), emit(arguments);
            reference.kind = A_VALUE;
        } else {
            return reference;
        }
    }
}

static void operand(void) {
    if (token.kind == NUMERAL) emit(WORD), emit(number(token.number)), next_token();
    else if (token.kind == QUOTED) emit_constant(token.text), next_token();
    else if (accept("nil")) emit(WORD), emit(NIL);
    else if (accept("{")) table_constructor();
    else if (accept("function")) function_body();
    else if (accept("#")) operand(), emit(LENGTH);
    else if (accept("not")) operand(), emit(NOT);
    else load(suffixed());
}

static const struct {
    const char *text;
    int level, operation, is_swapped;
} operators[] = {
    {"or", 1, OR, 0},    {"and", 2, AND, 0},         {"==", 3, EQUAL, 0}, {"~=", 3, UNEQUAL, 0},
    {"<", 3, LESS, 0},   {"<=", 3, AT_MOST, 0},      {">", 3, LESS, 1},   {"..", 4, CONCATENATE, 0},
    {"+", 5, ADD, 0},    {"-", 5, SUBTRACT, 0},      {"*", 6, MULTIPLY, 0}, {"%", 6, REMAINDER, 0},
};

/* Operators that bind closer than the level. `a > b` is `not (a <= b)`. */
static void expression(int level) {
    operand();
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!is(operators[i].text) || operators[i].level <= level) continue;
        int operation = operators[i].operation;
        next_token();
        if (operation == OR || operation == AND) {
            int jump = emit_jump(operation);
            expression(operators[i].level);
            land(jump);
        } else {
            expression(operators[i].level);
            emit(operators[i].is_swapped ? AT_MOST : operation);
            if (operators[i].is_swapped) emit(NOT);
        }
        i = -1;
    }
}

static void loop(void) {
    int outer = scope->count, counter = declare(token.text), limit = declare("(limit)");
    next_token();
    expect("=");
    expression(0);
    emit_local(SET_LOCAL, 0, counter);
    expect(",");
    expression(0);
    emit_local(SET_LOCAL, 0, limit);
    expect("do");
    int top = scope->function->length;
    emit_local(LOCAL, 0, counter);
    emit_local(LOCAL, 0, limit);
    emit(AT_MOST);
    int out = emit_jump(JUMP_IF_NOT);
    block();
    expect("end");
    emit_local(LOCAL, 0, counter);
    emit(WORD), emit(number(1)), emit(ADD);
    emit_local(SET_LOCAL, 0, counter);
    emit_jump_back(top);
    land(out);
    scope->count = outer;
}

static void statement(void) {
    if (accept("local")) {
        char name[WORD_MAX];
        strcpy(name, token.text);
        next_token();
        expect("=");
        expression(0);
        emit_local(SET_LOCAL, 0, declare(name));
    } else if (accept("function")) {
        Reference reference = variable(token.text);
        next_token();
        function_body();
        store(reference);
    } else if (accept("if")) {
        expression(0);
        expect("then");
        int out = emit_jump(JUMP_IF_NOT);
        block();
        expect("end");
        land(out);
    } else if (accept("while")) {
        int top = scope->function->length;
        expression(0);
        expect("do");
        int out = emit_jump(JUMP_IF_NOT);
        block();
        expect("end");
        emit_jump_back(top);
        land(out);
    } else if (accept("for")) {
        loop();
    } else if (accept("return")) {
        expression(0);
        emit(RETURN);
    } else {
        Reference reference = suffixed();
        if (accept("=")) {
            expression(0);
            store(reference);
        } else {
            load(reference);
            emit(POP);
        }
    }
}

/* Statements; the variables that they declare end with them. */
static void block(void) {
    int outer = scope->count;
    while (!is("end") && token.kind != END) statement();
    scope->count = outer;
}

static void compile(const char *text) {
    number_in(globals, &global_count, "seed");
    number_in(globals, &global_count, "rounds");
    number_in(globals, &global_count, "depth");
    Scope outermost = {.function = &functions[function_count++]};
    scope = &outermost;
    source = text;
    next_token();
    block();
    if (token.kind != END) fail("a statement is missing");
}

#endif
