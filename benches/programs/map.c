/* map: a sorted map that is never changed in place: each insertion and removal copies the path to its place and
 * shares the rest. A ring of the last sixty-four versions lives, as an editor's history or a database's snapshots
 * would; each new version lets the oldest die, with the nodes that no other shares. By hand, nodes count their
 * owners.
 */
#include "program.h"

/* A node of a treap: sorted by key, and a heap by the hash of the key, so that it is as deep as a random tree. */
typedef struct Node {
    struct Node *left, *right;
    uint64_t key, value;
    BY_HAND(long owners;)
} Node;
TALLY_ACYCLIC_TYPE(Node, left, right);

typedef struct Version {
    Node *root;
    long number, count;
} Version;
TALLY_TYPE(Version, root);

typedef struct Versions {
    uint64_t length;
    Version *at[];
} Versions;
TALLY_ARRAY_TYPE(Versions, length, at);

enum { KEPT = 64 };

#ifdef FREED_BY_HAND
static Node *keep(Node *node) {
    if (node) node->owners++;
    return node;
}

static void release(Node *node) {
    while (node && --node->owners == 0) {
        Node *right = node->right;
        release(node->left);
        free(node);
        node = right;
    }
}
#else
#define keep(node) (node)
#endif

static inline uint64_t priority(uint64_t key) { return key * 0x9e3779b97f4a7c15ull ^ key * 0xc2b2ae3d27d4eb4full >> 31; }

/* A node that owns the two nodes below it. */
static Node *new_node(Node *left, uint64_t key, uint64_t value, Node *right) {
    TALLY_ROOT(left, right);
    Node *node = TALLY_NEW(Node);
    node->key = key;
    node->value = value;
    BY_HAND(node->owners = 1;)
    TALLY_WRITE(node, left, left);
    TALLY_WRITE(node, right, right);
    return node;
}

/* The map of both; all keys of the first are smaller. */
static Node *joined(Node *left, Node *right) {
    if (!left) return keep(right);
    if (!right) return keep(left);
    TALLY_ROOT(left, right);
    if (priority(left->key) > priority(right->key)) {
        Node *high = joined(left->right, right);
        return new_node(keep(left->left), left->key, left->value, high);
    }
    Node *low = joined(left, right->left);
    return new_node(low, right->key, right->value, keep(right->right));
}

/* The part of the map below a key, and the part above it. */
static Node *below(Node *node, uint64_t key) {
    if (!node) return NULL;
    if (node->key >= key) return below(node->left, key);
    TALLY_ROOT(node);
    Node *right = below(node->right, key);
    return new_node(keep(node->left), node->key, node->value, right);
}

static Node *above(Node *node, uint64_t key) {
    if (!node) return NULL;
    if (node->key <= key) return above(node->right, key);
    TALLY_ROOT(node);
    Node *left = above(node->left, key);
    return new_node(left, node->key, node->value, keep(node->right));
}

/* The map with a key, which it does not have or which takes another value. */
static Node *with(Node *node, uint64_t key, uint64_t value) {
    TALLY_ROOT(node);
    if (!node || priority(key) > priority(node->key)) {
        Node *left = below(node, key);
        TALLY_ROOT(left);
        Node *right = above(node, key);
        return new_node(left, key, value, right);
    }
    if (key == node->key) return new_node(keep(node->left), key, value, keep(node->right));
    if (key < node->key) {
        Node *left = with(node->left, key, value);
        return new_node(left, node->key, node->value, keep(node->right));
    }
    Node *right = with(node->right, key, value);
    return new_node(keep(node->left), node->key, node->value, right);
}

/* The map without a key that it has. */
static Node *without(Node *node, uint64_t key) {
    TALLY_ROOT(node);
    if (key == node->key) return joined(node->left, node->right);
    if (key < node->key) {
        Node *left = without(node->left, key);
        return new_node(left, node->key, node->value, keep(node->right));
    }
    Node *right = without(node->right, key);
    return new_node(keep(node->left), node->key, node->value, right);
}

static Node *find(Node *node, uint64_t key) {
    while (node && node->key != key) node = key < node->key ? node->left : node->right;
    return node;
}

/* The sum of the values from one key to another. */
static uint64_t sum_between(Node *node, uint64_t from, uint64_t to) {
    if (!node) return 0;
    TALLY_ROOT(node);
    uint64_t sum = 0;
    if (node->key > from) sum += sum_between(node->left, from, to);
    if (node->key >= from && node->key < to) sum += node->value;
    if (node->key < to) sum += sum_between(node->right, from, to);
    return sum;
}

static Version *new_version(Node *root, long number, long count) {
    TALLY_ROOT(root);
    Version *version = TALLY_NEW(Version);
    version->number = number;
    version->count = count;
    TALLY_WRITE(version, root, root);
    return version;
}

/* The version after this one: one key more, one less, or one with another value. */
static Version *changed(Version *version, uint32_t keys) {
    TALLY_ROOT(version);
    uint64_t key = random_below(keys);
    Node *found = find(version->root, key), *root = NULL;
    TALLY_ROOT(root);
    int is_removed = found && random_below(2);
    root = is_removed ? without(version->root, key) : with(version->root, key, random_below(1000));
    return new_version(root, version->number + 1, version->count + !found - is_removed);
}

/* Every other key, one after the other. */
static Node *new_map(uint32_t keys) {
    Node *root = NULL;
    TALLY_ROOT(root);
    for (uint32_t key = 0; key < keys; key += 2) {
        Node *next = with(root, key, key % 1000);
        BY_HAND(release(root);)
        root = next;
        tick();
    }
    return root;
}

static uint64_t map(long size) {
    Versions *versions = TALLY_NEW_ARRAY(Versions, KEPT);
    TALLY_ROOT(versions);
    uint32_t keys = size < 1000 ? 50 : 300000;
    uint64_t sum = 0;
    Node *root = new_map(keys);
    TALLY_ROOT(root);
    Version *version = new_version(root, 0, keys / 2);
    TALLY_ROOT(version);
    root = NULL;
    for (long change = 0; change < size; change++) {
        BY_HAND(Version *oldest = versions->at[version->number % KEPT];)
        BY_HAND(if (oldest) release(oldest->root), free(oldest);)
        TALLY_WRITE(versions, at[version->number % KEPT], version);
        version = changed(version, keys);
        if (!(change & 7)) { /* a reader of an older version */
            Version *old = versions->at[random_below(change < KEPT ? change + 1 : KEPT)];
            TALLY_ROOT(old);
            uint64_t from = random_below(keys);
            sum = mix(sum, sum_between(old->root, from, from + 100) + old->count);
            tick();
        }
    }
    return mix(sum, version->count);
}
PROGRAM(map, 250000, 1000, 40)
