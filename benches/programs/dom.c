/* dom: the document of a web page: elements with attributes and texts that know their parents and neighbours, and
 * listeners that know their elements. The page lives; in each step a part of it is rendered anew from markup,
 * elements move or are removed, events bubble up to the listeners, and a part is written as markup. What is replaced
 * dies, and all of it is cyclic.
 */
#include "program.h"
#include "text.h"

typedef struct Attribute {
    struct Attribute *next;
    Text *name, *value;
} Attribute;
TALLY_ACYCLIC_TYPE(Attribute, next, name, value);

struct Listener;
typedef struct Node {
    struct Node *parent, *first, *last, *before, *after;
    Text *text; /* the tag of an element */
    Attribute *attributes;
    struct Listener *listeners;
    long is_element;
} Node;
TALLY_TYPE(Node, parent, first, last, before, after, text, attributes, listeners);

/* Called when an event reaches `at`; it counts at the element `target`, which is that element or one around it. */
typedef struct Listener {
    struct Listener *next;
    Node *at, *target;
    void (*call)(struct Listener *, long event);
    long calls;
} Listener;
TALLY_TYPE(Listener, next, at, target);

static uint64_t events;

static Node *new_node(Text *text, long is_element) {
    TALLY_ROOT(text);
    Node *node = TALLY_NEW(Node);
    node->is_element = is_element;
    TALLY_WRITE(node, text, text);
    return node;
}

static void append_child(Node *parent, Node *child) {
    TALLY_ROOT(parent, child);
    Node *last = parent->last;
    TALLY_WRITE(child, parent, parent);
    TALLY_WRITE(child, before, last);
    if (last)
        TALLY_WRITE(last, after, child);
    else
        TALLY_WRITE(parent, first, child);
    TALLY_WRITE(parent, last, child);
}

static void take_out(Node *node) {
    TALLY_ROOT(node);
    if (node->before)
        TALLY_WRITE(node->before, after, node->after);
    else
        TALLY_WRITE(node->parent, first, node->after);
    if (node->after)
        TALLY_WRITE(node->after, before, node->before);
    else
        TALLY_WRITE(node->parent, last, node->before);
    TALLY_WRITE(node, parent, NULL);
    TALLY_WRITE(node, before, NULL);
    TALLY_WRITE(node, after, NULL);
}

#ifdef FREED_BY_HAND
static void free_node(Node *node) {
    for (Node *child = node->first; child;) {
        Node *after = child->after;
        free_node(child);
        child = after;
    }
    for (Attribute *attribute = node->attributes; attribute;) {
        Attribute *next = attribute->next;
        free(attribute->name);
        free(attribute->value);
        free(attribute);
        attribute = next;
    }
    for (Listener *listener = node->listeners; listener;) {
        Listener *next = listener->next;
        free(listener);
        listener = next;
    }
    free(node->text);
    free(node);
}
#endif

static Text *attribute_of(Node *node, const char *name) {
    TALLY_ROOT(node);
    uint64_t length = strlen(name);
    Attribute *attribute = node->attributes;
    TALLY_ROOT(attribute);
    while (attribute && !is_equal(attribute->name->bytes, attribute->name->length, name, length)) attribute = attribute->next;
    return attribute ? attribute->value : NULL;
}

/* The next element or text in the order of the document, within `top`. */
static Node *next_in(Node *node, Node *top) {
    if (node->first) return node->first;
    while (node != top && !node->after) node = node->parent;
    return node == top ? NULL : node->after;
}

static void count_call(Listener *listener, long event) {
    listener->calls++;
    events += event * listener->calls;
}

static void count_and_tell(Listener *listener, long event) {
    Node *target = listener->target;
    listener->calls++;
    if (target->listeners && target->listeners != listener) target->listeners->calls += event;
}

static void listen(Node *node, Node *target, void (*call)(Listener *, long)) {
    TALLY_ROOT(node, target);
    Listener *listener = TALLY_NEW(Listener);
    listener->call = call;
    listener->calls = 0;
    TALLY_WRITE(listener, at, node);
    TALLY_WRITE(listener, target, target);
    TALLY_WRITE(listener, next, node->listeners);
    TALLY_WRITE(node, listeners, listener);
}

static void dispatch(Node *node, long event) {
    TALLY_ROOT(node);
    Listener *listener = NULL;
    TALLY_ROOT(listener);
    for (; node; node = node->parent)
        for (listener = node->listeners; listener; listener = listener->next) listener->call(listener, event);
}

/* A reader of markup; the text is held by the caller. */
typedef struct Reader {
    Text *text;
    uint64_t at;
} Reader;
TALLY_TYPE(Reader, text);

static Text *read_until(Reader *reader, const char *ends) {
    TALLY_ROOT(reader);
    uint64_t from = reader->at;
    while (reader->at < reader->text->length && !strchr(ends, reader->text->bytes[reader->at])) reader->at++;
    return part_of(reader->text, from, reader->at);
}

static void read_attributes(Reader *reader, Node *node) {
    TALLY_ROOT(reader, node);
    while (reader->text->bytes[reader->at] == ' ') {
        reader->at++;
        Attribute *attribute = TALLY_NEW(Attribute);
        TALLY_ROOT(attribute);
        TALLY_WRITE(attribute, name, read_until(reader, "="));
        reader->at += 2;
        TALLY_WRITE(attribute, value, read_until(reader, "\""));
        reader->at++;
        TALLY_WRITE(attribute, next, node->attributes);
        TALLY_WRITE(node, attributes, attribute);
    }
}

/* Appends to `parent` what the markup says, until its end tag. */
static void read_children(Reader *reader, Node *parent) {
    TALLY_ROOT(reader, parent);
    while (reader->at < reader->text->length) {
        const char *bytes = reader->text->bytes + reader->at;
        if (*bytes != '<') {
            append_child(parent, new_node(read_until(reader, "<"), 0));
            continue;
        }
        if (bytes[1] == '/') {
            while (reader->text->bytes[reader->at++] != '>') {}
            return;
        }
        reader->at++;
        Node *node = new_node(read_until(reader, " >"), 1);
        TALLY_ROOT(node);
        append_child(parent, node);
        read_attributes(reader, node);
        reader->at++;
        if (attribute_of(node, "onclick")) listen(node, parent, count_and_tell);
        read_children(reader, node);
    }
}

static void read_markup(Text *text, Node *parent) {
    TALLY_ROOT(text, parent);
    Reader *reader = TALLY_NEW(Reader);
    TALLY_ROOT(reader);
    reader->at = 0;
    TALLY_WRITE(reader, text, text);
    read_children(reader, parent);
    FREE(reader);
}

static void write_tag(Builder *out, Node *node) {
    TALLY_ROOT(out, node);
    add_words(out, "<");
    add_text(out, node->text);
    Attribute *attribute = node->attributes;
    TALLY_ROOT(attribute);
    for (; attribute; attribute = attribute->next) {
        add_words(out, " ");
        add_text(out, attribute->name);
        add_words(out, "=\"");
        add_text(out, attribute->value);
        add_words(out, "\"");
    }
    add_words(out, ">");
}

static void write_markup(Builder *out, Node *node) {
    TALLY_ROOT(out, node);
    if (!node->is_element) {
        add_text(out, node->text);
        return;
    }
    write_tag(out, node);
    Node *child = node->first;
    TALLY_ROOT(child);
    for (; child; child = child->after) write_markup(out, child);
    add_words(out, "</");
    add_text(out, node->text);
    add_words(out, ">");
}

/* What a template makes of a message with its replies. */
static void write_message(Builder *out, int depth) {
    TALLY_ROOT(out);
    add_words(out, "<div class=\"message depth-");
    add_number(out, depth);
    add_words(out, "\" id=\"m");
    add_number(out, random_below(100000));
    add_words(out, "\"><h3>from <b>user ");
    add_number(out, random_below(1000));
    add_words(out, "</b></h3><p>some words that somebody wrote, <i>and</i> a number: ");
    add_number(out, random_below(1000000));
    add_words(out, "</p><button class=\"reply\" onclick=\"reply\">reply</button><ul>");
    int replies = depth > 0 ? random_below(4) : 0;
    for (int reply = 0; reply < replies; reply++) {
        add_words(out, "<li>");
        write_message(out, depth - 1);
        add_words(out, "</li>");
    }
    add_words(out, "</ul></div>");
}

/* Replaces all children by new ones. */
static void render(Node *node, int depth) {
    TALLY_ROOT(node);
    Node *child = NULL;
    TALLY_ROOT(child);
    while ((child = node->first)) {
        take_out(child);
        BY_HAND(free_node(child);)
    }
    Builder *out = new_builder(1024);
    TALLY_ROOT(out);
    write_message(out, depth);
    Text *text = finished(out);
    TALLY_ROOT(text);
    read_markup(text, node);
    FREE(text);
}

static Node *child_at(Node *node, long place) {
    node = node->first;
    while (node && place-- > 0) node = node->after;
    return node;
}

/* The last element below the thread whose class is that of a reply's button. */
static Node *last_button(Node *thread) {
    TALLY_ROOT(thread);
    Node *found = NULL, *node = thread;
    TALLY_ROOT(found, node);
    for (; node; node = next_in(node, thread)) {
        if (!node->is_element) continue;
        Text *class = attribute_of(node, "class");
        if (!class) continue;
        TALLY_ROOT(class);
        if (is_equal(class->bytes, class->length, "reply", 5)) found = node;
    }
    return found;
}

static uint64_t step(Node *page, long threads) {
    TALLY_ROOT(page);
    Node *thread = child_at(page, random_below(threads));
    TALLY_ROOT(thread);
    uint32_t choice = random_below(10);
    uint64_t sum = 0;
    if (choice < 4) {
        render(thread, 1 + random_below(4));
    } else if (choice < 6) { /* to the end, as the one with the newest message */
        take_out(thread);
        append_child(page, thread);
    } else if (choice < 8) {
        Node *button = last_button(thread);
        if (button) dispatch(button, choice);
    } else {
        Builder *out = new_builder(1024);
        TALLY_ROOT(out);
        write_markup(out, thread);
        Text *text = finished(out);
        TALLY_ROOT(text);
        sum = hash_of(text->bytes, text->length);
        FREE(text);
    }
    return sum;
}

static uint64_t dom(long size) {
    Text *tag = new_text("body", 4);
    TALLY_ROOT(tag);
    Node *page = new_node(tag, 1);
    TALLY_ROOT(page);
    listen(page, page, count_call);
    long threads = size < 1000 ? 3 : 1500;
    for (long i = 0; i < threads; i++) {
        Node *thread = new_node(new_text("section", 7), 1);
        TALLY_ROOT(thread);
        append_child(page, thread);
        listen(thread, page, count_call);
        render(thread, 1);
    }
    uint64_t sum = 0;
    for (long number = 0; number < size; number++) {
        sum = mix(sum, step(page, threads));
        tick();
    }
    return mix(sum, events + page->listeners->calls);
}
PROGRAM(dom, 35000, 200, 4)
