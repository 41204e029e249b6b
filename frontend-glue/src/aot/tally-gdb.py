"""Prints objects of Tally's heap in gdb: by the type in the header, whatever the static type is, and each object that it refers to
by its address and type. A struct with which an object begins is printed as that struct, and a pointer to it as one to the object.

    (gdb) print list
    $1 = 0x200000000120 Node = {next = 0x200000000108 Node, value = 3}

An executable that `tally build -g` made has this in its section .debug_gdb_scripts. gdb asks first whether it may:
`add-auto-load-safe-path EXECUTABLE`. `source tally-gdb.py` does the same by hand. `set print pretty-printer` and
`print/r` leave it out, as with other printers. Nothing is called in the program: it works on core files, too.

The layouts that are read are those of `tally_debugger` (rc-runtime/src/type_registry/debugger_view.rs).
"""

import gdb
import struct

VERSION = 1
ELEMENTS_MAX = 10
WORDS_MAX = 16


class View:
    """The heap of a program, by its `tally_debugger`."""

    FIELDS = struct.Struct("<IIQQQ4I")

    def __init__(self):
        address = int(gdb.parse_and_eval("(unsigned long)&tally_debugger"))
        layout = self.FIELDS.unpack(read(address, self.FIELDS.size))
        (self.version, self.type_mask, self.base, self.span, self.types, self.name, self.size, self.stride,
         self.length_offset) = layout
        if self.version != VERSION:
            raise gdb.error("tally-gdb.py is of another version than the program")

    def holds(self, address):
        return self.base <= address < self.base + self.span and address % 8 == 0

    def object(self, address):
        """The object at an address; None if there is none."""
        if not self.holds(address):
            return None
        try:
            return Object(self, address)
        except (gdb.error, UnicodeDecodeError):
            return None

    def short(self, address):
        found = self.object(address)
        return "0x%x %s" % (address, found.name) if found else "0x%x" % address


class Object:
    """An object, by the type in its header."""

    def __init__(self, view, address):
        self.view, self.address = view, address
        (meta,) = struct.unpack("<I", read(address - 4, 4))
        self.dead = bool(meta & (1 << 30))
        (info,) = struct.unpack("<Q", read(view.types + (meta & view.type_mask) * 8, 8))
        if info == 0:
            raise gdb.error("no type")
        word = lambda offset: struct.unpack("<Q", read(info + offset, 8))[0]
        self.name = self.text(word(view.name), word(view.name + 8))
        self.size, self.stride, self.length_offset = word(view.size), word(view.stride), word(view.length_offset)

    @staticmethod
    def text(start, size):
        if size > 65536:
            raise gdb.error("no text")
        return read(start, size).decode() if size else ""

    def length(self):
        return struct.unpack("<Q", read(self.address + self.length_offset, 8))[0] if self.stride else 0

    def described(self):
        """The debug information about a struct of that name; None if there is none."""
        for name in (self.name, "struct " + self.name):
            try:
                described = gdb.lookup_type(name).strip_typedefs()
            except gdb.error:
                continue
            if described.code == gdb.TYPE_CODE_STRUCT and described.sizeof >= self.size:
                return described
        return None

    def children(self):
        """Names and values: by the debug information, else word by word."""
        described = self.described()
        if described is None:
            return self.words()
        value = gdb.Value(self.address).cast(described.pointer()).dereference()
        return [(field.name, self.field(value, field)) for field in described.fields() if field.name]

    def field(self, value, field):
        if is_flexible(field.type):
            return self.elements(value[field])
        return shown(self.view, value[field])

    def elements(self, array):
        count = self.length()
        element = array.type.strip_typedefs().target()
        first = array.address.cast(element.pointer())
        values = [shown(self.view, first[place]) for place in range(min(count, ELEMENTS_MAX))]
        more = ["..."] if count > ELEMENTS_MAX else []
        return "{" + ", ".join([str(value) for value in values] + more) + "}"

    def words(self):
        size = min(self.size + self.stride * self.length(), WORDS_MAX * 8)
        words = struct.unpack("<%dq" % (size // 8), read(self.address, size // 8 * 8))
        shown = [self.view.short(word) if self.view.holds(word) else str(word) for word in words]
        return [("+%d" % (place * 8), text) for place, text in enumerate(shown)]


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def begins_with(outer, inner):
    """Whether a struct's first field is of that type: at the object's address stands the field, then, as far as gdb knows."""
    if outer is None or not outer.fields():
        return False
    first = outer.fields()[0].type.strip_typedefs()
    return first.code == gdb.TYPE_CODE_STRUCT and (first == inner or begins_with(first, inner))


def is_flexible(type):
    type = type.strip_typedefs()
    return type.code == gdb.TYPE_CODE_ARRAY and type.sizeof == 0


def shown(view, value):
    """A field's value; what refers to an object by address and type, also in a struct that is a field."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR and view.holds(int(value)):
        return view.short(int(value))
    if kind.code == gdb.TYPE_CODE_STRUCT and all(field.name and hasattr(field, "bitpos") for field in kind.fields()):
        return "{" + ", ".join("%s = %s" % (field.name, shown(view, value[field])) for field in kind.fields()) + "}"
    return value


class Printer:
    def __init__(self, found, is_pointer):
        self.found, self.is_pointer = found, is_pointer

    def to_string(self):
        dead = "dead " if self.found.dead else ""
        return ("0x%x " % self.found.address if self.is_pointer else "") + dead + self.found.name

    def children(self):
        return iter(self.found.children())


def lookup(value):
    """The printer of a value: a pointer to an object, or a struct that is one."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        target = kind.target().strip_typedefs().code
        if target not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_VOID):
            return None
        is_pointer, address = True, int(value)
    elif kind.code == gdb.TYPE_CODE_STRUCT and value.address is not None:
        is_pointer, address = False, int(value.address)
    else:
        return None
    try:
        found = View().object(address)
    except gdb.error:
        return None
    if found and not is_pointer and begins_with(found.described(), kind):
        return None
    return Printer(found, is_pointer) if found else None


objfile = gdb.current_objfile()
(objfile or gdb).pretty_printers.append(lookup)
