/* server: answers requests as a web server does. Connections, sessions with carts, and a cache of rendered pages
 * live; requests, their headers and their answers die soon, sessions when they have not been used for long, pages
 * when they are the least recently used of six thousand. Sessions and pages are in rings, and requests and
 * connections refer to each other.
 */
#include "program.h"
#include "text.h"

typedef struct Header {
    struct Header *next;
    Text *name, *value;
} Header;
TALLY_ACYCLIC_TYPE(Header, next, name, value);

typedef struct Article {
    struct Article *next;
    Text *name;
    long count;
} Article;
TALLY_TYPE(Article, next, name);

/* What is found by a key and leaves by age: both are kept in a store. */
typedef struct Entry {
    struct Entry *newer, *older, *chain;
    Text *key, *page; /* a session has no page */
    Article *cart;    /* a page has no cart */
    uint64_t hash, used;
} Entry;
TALLY_TYPE(Entry, newer, older, chain, key, page, cart);

typedef struct Buckets {
    uint64_t length;
    Entry *at[];
} Buckets;
TALLY_ARRAY_TYPE(Buckets, length, at);

typedef struct Store {
    Buckets *buckets;
    Entry *ring; /* its `older` is the most recently used entry, its `newer` the least */
    long entries;
} Store;
TALLY_TYPE(Store, buckets, ring);

struct Connection;
typedef struct Request {
    struct Connection *connection;
    Text *method, *path, *body, *answer;
    Header *headers;
    struct Request *next; /* answered after this one */
} Request;
TALLY_TYPE(Request, connection, method, path, body, answer, headers, next);

typedef struct Connection {
    Request *first, *last; /* that have not been sent yet */
    long sent, waiting;
} Connection;
TALLY_TYPE(Connection, first, last);

enum { CONNECTIONS = 64, PAGES = 6000, BUCKETS = 4096, SESSION_AGE = 40000 };

typedef struct Connections {
    uint64_t length;
    Connection *at[];
} Connections;
TALLY_ARRAY_TYPE(Connections, length, at);

typedef struct Server {
    Store *pages, *sessions;
    Connections *connections;
    uint64_t now;
} Server;
TALLY_TYPE(Server, pages, sessions, connections);

static Store *new_store(void) {
    Store *store = TALLY_NEW(Store);
    TALLY_ROOT(store);
    store->entries = 0;
    TALLY_WRITE(store, buckets, TALLY_NEW_ARRAY(Buckets, BUCKETS));
    Entry *ring = TALLY_NEW(Entry);
    TALLY_WRITE(ring, newer, ring);
    TALLY_WRITE(ring, older, ring);
    TALLY_WRITE(store, ring, ring);
    return store;
}

static Entry *find(Store *store, const char *key, uint64_t length) {
    TALLY_ROOT(store);
    uint64_t hash = hash_of(key, length);
    Entry *entry = store->buckets->at[hash % BUCKETS];
    TALLY_ROOT(entry);
    while (entry && !(entry->hash == hash && is_equal(entry->key->bytes, entry->key->length, key, length))) entry = entry->chain;
    return entry;
}

static void take_from_ring(Entry *entry) {
    TALLY_WRITE(entry->newer, older, entry->older);
    TALLY_WRITE(entry->older, newer, entry->newer);
}

/* Makes the entry the most recently used one. */
static void put_first(Store *store, Entry *entry, uint64_t now) {
    Entry *ring = store->ring;
    entry->used = now;
    TALLY_WRITE(entry, newer, ring);
    TALLY_WRITE(entry, older, ring->older);
    TALLY_WRITE(ring->older, newer, entry);
    TALLY_WRITE(ring, older, entry);
}

static Entry *add(Store *store, Text *key, uint64_t now) {
    TALLY_ROOT(store, key);
    Entry *entry = TALLY_NEW(Entry);
    TALLY_ROOT(entry);
    entry->hash = hash_of(key->bytes, key->length);
    TALLY_WRITE(entry, key, key);
    Buckets *buckets = store->buckets;
    TALLY_WRITE(entry, chain, buckets->at[entry->hash % BUCKETS]);
    TALLY_WRITE(buckets, at[entry->hash % BUCKETS], entry);
    put_first(store, entry, now);
    store->entries++;
    return entry;
}

#ifdef FREED_BY_HAND
static void free_entry(Entry *entry) {
    for (Article *article = entry->cart; article;) {
        Article *next = article->next;
        free(article->name);
        free(article);
        article = next;
    }
    free(entry->key);
    free(entry->page);
    free(entry);
}

static void free_request(Request *request) {
    for (Header *header = request->headers; header;) {
        Header *next = header->next;
        free(header->name);
        free(header->value);
        free(header);
        header = next;
    }
    free(request->method);
    free(request->path);
    free(request->body);
    free(request->answer);
    free(request);
}
#endif

static void remove_oldest(Store *store) {
    Entry *entry = store->ring->newer;
    TALLY_ROOT(store, entry);
    take_from_ring(entry);
    Buckets *buckets = store->buckets;
    Entry *before = buckets->at[entry->hash % BUCKETS];
    if (before == entry) {
        TALLY_WRITE(buckets, at[entry->hash % BUCKETS], entry->chain);
    } else {
        while (before->chain != entry) before = before->chain;
        TALLY_WRITE(before, chain, entry->chain);
    }
    store->entries--;
    BY_HAND(free_entry(entry);)
}

/* What a browser would send. Few pages are asked for often. */
static Text *new_message(void) {
    Builder *out = new_builder(256);
    TALLY_ROOT(out);
    uint32_t choice = random_below(10);
    add_words(out, choice < 7 ? "GET /page/" : choice < 9 ? "POST /cart/" : "GET /cart/");
    add_number(out, random_below(1 << (6 + random_below(8))));
    add_words(out, " HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: browser/");
    add_number(out, random_below(120));
    add_words(out, " (an ordinary one)\r\nAccept: text/html, */*;q=0.5\r\nCookie: session=");
    add_number(out, random_below(1 << (4 + random_below(11))));
    add_words(out, "\r\n\r\n");
    if (choice >= 7 && choice < 9) {
        add_words(out, "article=number ");
        add_number(out, random_below(1000));
    }
    return finished(out);
}

/* The bytes from `*at` to the next separator, behind which `*at` is then. */
static Text *next_part(Text *message, uint64_t *at, const char *separator) {
    TALLY_ROOT(message);
    uint64_t from = *at, length = strlen(separator);
    while (memcmp(message->bytes + *at, separator, length) != 0) ++*at;
    Text *part = part_of(message, from, *at);
    *at += length;
    return part;
}

static Request *parse(Text *message, Connection *connection) {
    TALLY_ROOT(message, connection);
    Request *request = TALLY_NEW(Request);
    TALLY_ROOT(request);
    TALLY_WRITE(request, connection, connection);
    uint64_t at = 0;
    TALLY_WRITE(request, method, next_part(message, &at, " "));
    TALLY_WRITE(request, path, next_part(message, &at, " "));
    while (message->bytes[at] != '\n') at++;
    at++;
    while (message->bytes[at] != '\r') {
        Header *header = TALLY_NEW(Header);
        TALLY_ROOT(header);
        TALLY_WRITE(header, name, next_part(message, &at, ": "));
        TALLY_WRITE(header, value, next_part(message, &at, "\r\n"));
        TALLY_WRITE(header, next, request->headers);
        TALLY_WRITE(request, headers, header);
    }
    TALLY_WRITE(request, body, part_of(message, at + 2, message->length));
    return request;
}

static Text *header_of(Request *request, const char *name) {
    TALLY_ROOT(request);
    uint64_t length = strlen(name);
    Header *header = request->headers;
    TALLY_ROOT(header);
    while (header && !is_equal(header->name->bytes, header->name->length, name, length)) header = header->next;
    return header ? header->value : NULL;
}

static Text *render(Text *path) {
    TALLY_ROOT(path);
    Builder *out = new_builder(512);
    TALLY_ROOT(out);
    add_words(out, "<html><head><title>");
    add_text(out, path);
    add_words(out, "</title></head><body><ul>\n");
    uint64_t hash = hash_of(path->bytes, path->length);
    for (uint64_t row = 0; row < 10 + hash % 50; row++) {
        add_words(out, "<li class=\"row\">article ");
        add_number(out, hash / (row + 1) % 100000);
        add_words(out, " for ");
        add_number(out, hash / (row + 7) % 1000);
        add_words(out, "</li>\n");
    }
    add_words(out, "</ul></body></html>\n");
    return finished(out);
}

static Entry *page_of(Server *server, Text *path) {
    TALLY_ROOT(server, path);
    Store *pages = server->pages;
    TALLY_ROOT(pages);
    Entry *page = find(pages, path->bytes, path->length);
    TALLY_ROOT(page);
    if (page) {
        take_from_ring(page);
        put_first(pages, page, server->now);
        return page;
    }
    if (pages->entries == PAGES) remove_oldest(pages);
    page = add(pages, part_of(path, 0, path->length), server->now);
    TALLY_WRITE(page, page, render(path));
    return page;
}

static Entry *session_of(Server *server, Request *request) {
    TALLY_ROOT(server, request);
    Store *sessions = server->sessions;
    TALLY_ROOT(sessions);
    while (sessions->entries > 0 && sessions->ring->newer->used + SESSION_AGE < server->now) remove_oldest(sessions);
    Text *cookie = header_of(request, "Cookie");
    TALLY_ROOT(cookie);
    Entry *session = find(sessions, cookie->bytes, cookie->length);
    if (!session) return add(sessions, part_of(cookie, 0, cookie->length), server->now);
    TALLY_ROOT(session);
    take_from_ring(session);
    put_first(sessions, session, server->now);
    return session;
}

/* Puts the article that the body names into the cart, or one more of it. */
static void add_to_cart(Entry *session, Text *body) {
    TALLY_ROOT(session, body);
    uint64_t from = strlen("article="), length = body->length - from;
    long articles = 0;
    Article *article = session->cart;
    TALLY_ROOT(article);
    for (; article; article = article->next, articles++) {
        if (!is_equal(article->name->bytes, article->name->length, body->bytes + from, length)) continue;
        article->count++;
        return;
    }
    if (articles == 20) return;
    article = TALLY_NEW(Article);
    article->count = 1;
    TALLY_WRITE(article, next, session->cart);
    TALLY_WRITE(session, cart, article);
    TALLY_WRITE(article, name, part_of(body, from, body->length));
}

static void print_cart(Builder *out, Entry *session) {
    TALLY_ROOT(out, session);
    Article *article = session->cart;
    TALLY_ROOT(article);
    for (; article; article = article->next) {
        add_text(out, article->name);
        add_words(out, ": ");
        add_number(out, article->count);
        add_words(out, "\n");
    }
}

static void answer(Server *server, Request *request) {
    TALLY_ROOT(server, request);
    Entry *session = session_of(server, request);
    TALLY_ROOT(session);
    int is_page = request->path->bytes[1] == 'p';
    Text *page = NULL;
    TALLY_ROOT(page);
    if (is_page) page = page_of(server, request->path)->page;
    if (request->method->bytes[0] == 'P') add_to_cart(session, request->body);
    Builder *out = new_builder(is_page ? page->length + 128 : 256);
    TALLY_ROOT(out);
    add_words(out, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: ");
    add_text(out, session->key);
    if (is_page) {
        add_words(out, "\r\nContent-Length: ");
        add_number(out, page->length);
    }
    add_words(out, "\r\n\r\n");
    if (is_page)
        add_text(out, page);
    else
        print_cart(out, session);
    TALLY_WRITE(request, answer, finished(out));
}

/* Sends what waits: the hash stands for the bytes. */
static uint64_t flush(Connection *connection) {
    TALLY_ROOT(connection);
    uint64_t sum = 0;
    Request *request = connection->first;
    TALLY_ROOT(request);
    while (request) {
        sum = mix(sum, hash_of(request->answer->bytes, request->answer->length));
        connection->sent += request->answer->length;
        BY_HAND(Request *sent = request;)
        request = request->next;
        BY_HAND(free_request(sent);)
    }
    connection->waiting = 0;
    TALLY_WRITE(connection, first, NULL);
    TALLY_WRITE(connection, last, NULL);
    return sum;
}

static uint64_t serve(Server *server, Connection *connection) {
    TALLY_ROOT(server, connection);
    Text *message = new_message();
    TALLY_ROOT(message);
    Request *request = parse(message, connection);
    TALLY_ROOT(request);
    FREE(message);
    answer(server, request);
    if (connection->last)
        TALLY_WRITE(connection->last, next, request);
    else
        TALLY_WRITE(connection, first, request);
    TALLY_WRITE(connection, last, request);
    return ++connection->waiting == 4 || random_below(4) == 0 ? flush(connection) : 0;
}

static uint64_t server(long size) {
    Server *server = TALLY_NEW(Server);
    TALLY_ROOT(server);
    TALLY_WRITE(server, pages, new_store());
    TALLY_WRITE(server, sessions, new_store());
    TALLY_WRITE(server, connections, TALLY_NEW_ARRAY(Connections, CONNECTIONS));
    for (int i = 0; i < CONNECTIONS; i++) {
        Connection *connection = TALLY_NEW(Connection);
        connection->sent = connection->waiting = 0;
        TALLY_WRITE(server->connections, at[i], connection);
    }
    uint64_t sum = 0;
    for (long request = 0; request < size; request++) {
        server->now = request;
        sum = mix(sum, serve(server, server->connections->at[random_below(CONNECTIONS)]));
        if (!(request & 3)) tick();
    }
    return mix(sum, server->sessions->entries);
}
PROGRAM(server, 200000, 1000, 12)
