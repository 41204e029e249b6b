/* cd: detects collisions of aircraft, after Kalibera and others and "Are We Fast Yet". A red-black tree of where each
 * aircraft was lives and changes with each frame. A frame makes positions, motions, and a tree of the fields of the
 * map with the motions that touch each; all of these die at its end, but for the new positions. The nodes of trees
 * know their parents.
 */
#include <math.h>
#include "program.h"
#include "vector.h"

static const double SIDE = 1000, HEIGHT = 10, NEAR = 1, FIELD = 2;

typedef struct Position {
    double x, y, z;
} Position;
TALLY_TYPE(Position);

typedef struct Aircraft {
    long sign;
    double x, y, z;
} Aircraft;
TALLY_TYPE(Aircraft);

typedef struct Motion {
    Position *from, *to;
    long sign;
} Motion;
TALLY_TYPE(Motion, from, to);

typedef struct Collision {
    Position *at;
    long one, other;
} Collision;
TALLY_TYPE(Collision, at);

/* A node of a red-black tree, ordered by two numbers. */
typedef struct Node {
    struct Node *parent, *left, *right;
    void *value;
    double x, y;
    long is_red;
} Node;
TALLY_TYPE(Node, parent, left, right, value);

typedef struct Tree {
    Node *root;
} Tree;
TALLY_TYPE(Tree, root);

static inline int is_before(double x, double y, Node *node) { return x < node->x || (x == node->x && y < node->y); }

static Node *find(Tree *tree, double x, double y) {
    Node *node = tree->root;
    while (node && (x != node->x || y != node->y)) node = is_before(x, y, node) ? node->left : node->right;
    return node;
}

static Node *first_of(Node *node) {
    while (node && node->left) node = node->left;
    return node;
}

static Node *next_of(Node *node) {
    if (node->right) return first_of(node->right);
    Node *parent = node->parent;
    while (parent && node == parent->right) {
        node = parent;
        parent = node->parent;
    }
    return parent;
}

/* Puts `other`, which may be null, in the place of a node. */
static void replace(Tree *tree, Node *node, Node *other) {
    TALLY_ROOT(tree, node, other);
    Node *parent = node->parent;
    if (!parent)
        TALLY_WRITE(tree, root, other);
    else if (node == parent->left)
        TALLY_WRITE(parent, left, other);
    else
        TALLY_WRITE(parent, right, other);
    if (other) TALLY_WRITE(other, parent, parent);
}

static void rotate_left(Tree *tree, Node *node) {
    TALLY_ROOT(tree, node);
    Node *up = node->right;
    TALLY_ROOT(up);
    TALLY_WRITE(node, right, up->left);
    if (up->left) TALLY_WRITE(up->left, parent, node);
    replace(tree, node, up);
    TALLY_WRITE(up, left, node);
    TALLY_WRITE(node, parent, up);
}

static void rotate_right(Tree *tree, Node *node) {
    TALLY_ROOT(tree, node);
    Node *up = node->left;
    TALLY_ROOT(up);
    TALLY_WRITE(node, left, up->right);
    if (up->right) TALLY_WRITE(up->right, parent, node);
    replace(tree, node, up);
    TALLY_WRITE(up, right, node);
    TALLY_WRITE(node, parent, up);
}

/* The node of this key, which is made if there is none; its value is then null. */
static Node *find_or_add(Tree *tree, double x, double y) {
    TALLY_ROOT(tree);
    Node *parent = NULL, *node = tree->root;
    TALLY_ROOT(parent);
    while (node) {
        if (x == node->x && y == node->y) return node;
        parent = node;
        node = is_before(x, y, node) ? node->left : node->right;
    }
    Node *added = TALLY_NEW(Node);
    TALLY_ROOT(added);
    added->x = x;
    added->y = y;
    added->is_red = 1;
    TALLY_WRITE(added, parent, parent);
    if (!parent)
        TALLY_WRITE(tree, root, added);
    else if (is_before(x, y, parent))
        TALLY_WRITE(parent, left, added);
    else
        TALLY_WRITE(parent, right, added);

    Node *red = added;
    TALLY_ROOT(red);
    while (red->parent && red->parent->is_red) {
        Node *above = red->parent, *top = above->parent;
        TALLY_ROOT(above, top);
        Node *uncle = above == top->left ? top->right : top->left;
        if (uncle && uncle->is_red) {
            above->is_red = uncle->is_red = 0;
            top->is_red = 1;
            red = top;
            continue;
        }
        int is_left = above == top->left;
        if (red == (is_left ? above->right : above->left)) {
            red = above;
            if (is_left)
                rotate_left(tree, red);
            else
                rotate_right(tree, red);
        }
        red->parent->is_red = 0;
        top->is_red = 1;
        if (is_left)
            rotate_right(tree, top);
        else
            rotate_left(tree, top);
    }
    tree->root->is_red = 0;
    return added;
}

/* Makes the tree black enough again below `parent`, where `node` (or null) stands and lacks one. */
static void repair(Tree *tree, Node *node, Node *parent) {
    TALLY_ROOT(tree, node, parent);
    while (parent && !(node && node->is_red)) {
        int is_left = node == parent->left;
        Node *sibling = is_left ? parent->right : parent->left;
        TALLY_ROOT(sibling);
        if (sibling->is_red) {
            sibling->is_red = 0;
            parent->is_red = 1;
            if (is_left)
                rotate_left(tree, parent);
            else
                rotate_right(tree, parent);
            sibling = is_left ? parent->right : parent->left;
        }
        Node *near = is_left ? sibling->left : sibling->right, *far = is_left ? sibling->right : sibling->left;
        TALLY_ROOT(near, far);
        if (!(near && near->is_red) && !(far && far->is_red)) {
            sibling->is_red = 1;
            node = parent;
            parent = node->parent;
            continue;
        }
        if (!(far && far->is_red)) {
            near->is_red = 0;
            sibling->is_red = 1;
            if (is_left)
                rotate_right(tree, sibling);
            else
                rotate_left(tree, sibling);
            far = sibling;
            sibling = near;
        }
        sibling->is_red = parent->is_red;
        parent->is_red = 0;
        far->is_red = 0;
        if (is_left)
            rotate_left(tree, parent);
        else
            rotate_right(tree, parent);
        break;
    }
    if (!parent) node = tree->root;
    if (node) node->is_red = 0;
}

static void remove_key(Tree *tree, double x, double y) {
    TALLY_ROOT(tree);
    Node *node = find(tree, x, y);
    if (!node) return;
    TALLY_ROOT(node);
    Node *out = node->left && node->right ? first_of(node->right) : node; /* it has one child at most */
    TALLY_ROOT(out);
    Node *child = out->left ? out->left : out->right, *parent = out->parent;
    TALLY_ROOT(child, parent);
    int was_red = out->is_red;
    replace(tree, out, child);
    if (out != node) {
        node->x = out->x;
        node->y = out->y;
        TALLY_WRITE(node, value, out->value);
    }
    FREE(out);
    if (!was_red) repair(tree, child, parent);
}

#ifdef FREED_BY_HAND
static void free_nodes(Node *node) {
    if (!node) return;
    free_nodes(node->left);
    free_nodes(node->right);
    free(node);
}

static void free_tree(Tree *tree) {
    free_nodes(tree->root);
    free(tree);
}
#endif

static Position *new_position(double x, double y, double z) {
    Position *position = TALLY_NEW(Position);
    position->x = x;
    position->y = y;
    position->z = z;
    return position;
}

/* Where the traffic is at this time. Every hundredth aircraft is gone in each fourth frame. */
static Vector *new_frame(long aircraft, double time, long number) {
    Vector *frame = new_vector(aircraft);
    TALLY_ROOT(frame);
    for (long i = 0; i < aircraft; i++) {
        if (i % 100 == 7 && number % 4 == 3) continue;
        Aircraft *one = TALLY_NEW(Aircraft);
        TALLY_ROOT(one);
        one->sign = i;
        one->x = time;
        one->y = (i & 1 ? sin(time) : cos(time)) * 2 + i / 2 * 2 * 3;
        one->z = HEIGHT;
        append(frame, one);
    }
    return frame;
}

/* What each aircraft did since the last frame; those that are gone are forgotten. */
static Vector *new_motions(Tree *state, Vector *frame) {
    TALLY_ROOT(state, frame);
    Vector *motions = new_vector(frame->length), *gone = NULL;
    TALLY_ROOT(motions, gone);
    Tree *seen = TALLY_NEW(Tree);
    TALLY_ROOT(seen);
    for (long i = 0; i < frame->length; i++) {
        Aircraft *aircraft = frame->items->at[i];
        TALLY_ROOT(aircraft);
        Position *to = new_position(aircraft->x, aircraft->y, aircraft->z);
        TALLY_ROOT(to);
        Node *node = find_or_add(state, aircraft->sign, 0);
        TALLY_ROOT(node);
        find_or_add(seen, aircraft->sign, 0);
        Motion *motion = TALLY_NEW(Motion);
        motion->sign = aircraft->sign;
        TALLY_WRITE(motion, from, node->value ? node->value : to);
        TALLY_WRITE(motion, to, to);
        TALLY_WRITE(node, value, to);
        append(motions, motion);
    }
    gone = new_vector(2);
    for (Node *node = first_of(state->root); node; node = next_of(node)) {
        TALLY_ROOT(node);
        if (find(seen, node->x, 0)) continue;
        Motion *motion = TALLY_NEW(Motion); /* one that only begins */
        motion->sign = (long)node->x;
        TALLY_WRITE(motion, from, node->value);
        append(gone, motion);
    }
    while (gone->length > 0) {
        Motion *motion = remove_last(gone);
        TALLY_ROOT(motion);
        remove_key(state, motion->sign, 0);
        BY_HAND(free(motion->from); free(motion);)
    }
    BY_HAND(free_tree(seen); free_vector(gone);)
    return motions;
}

/* Whether the way from one coordinate to another touches a stretch; the parts of the way at which it does. */
static int touches(double from, double to, double low, double high, double *begin, double *end) {
    double way = to - from;
    if (way == 0) return low <= from && from <= high;
    double one = (low - from) / way, other = (high - from) / way;
    *begin = one < other ? one : other;
    *end = one < other ? other : one;
    return *begin <= 1 && *end >= 0;
}

static int is_in_field(double x, double y, Motion *motion) {
    if (x > SIDE || x < 0 || y > SIDE || y < 0) return 0;
    double begin_x = 0, end_x = 1, begin_y = 0, end_y = 1, margin = NEAR / 2;
    Position *from = motion->from, *to = motion->to;
    return touches(from->x, to->x, x - margin, x + FIELD + margin, &begin_x, &end_x)
        && touches(from->y, to->y, y - margin, y + FIELD + margin, &begin_y, &end_y) && begin_x <= end_y && begin_y <= end_x;
}

/* Adds the motion to each field that it touches, from this one on. */
static void draw(Tree *fields, Tree *seen, double x, double y, Motion *motion) {
    TALLY_ROOT(fields, seen, motion);
    if (!is_in_field(x, y, motion)) return;
    Node *mark = find_or_add(seen, x, y);
    if (mark->value) return;
    TALLY_WRITE(mark, value, motion);
    Node *field = find_or_add(fields, x, y);
    TALLY_ROOT(field);
    if (!field->value) TALLY_WRITE(field, value, new_vector(4));
    append(field->value, motion);
    for (int dx = -1; dx <= 1; dx++)
        for (int dy = -1; dy <= 1; dy++)
            if (dx || dy) draw(fields, seen, x + dx * FIELD, y + dy * FIELD, motion);
}

/* The motions of all fields that more than one touches. */
static Tree *new_fields(Vector *motions) {
    TALLY_ROOT(motions);
    Tree *fields = TALLY_NEW(Tree);
    TALLY_ROOT(fields);
    for (long i = 0; i < motions->length; i++) {
        Motion *motion = motions->items->at[i];
        TALLY_ROOT(motion);
        Tree *seen = TALLY_NEW(Tree);
        TALLY_ROOT(seen);
        draw(fields, seen, floor(motion->from->x / FIELD) * FIELD, floor(motion->from->y / FIELD) * FIELD, motion);
        BY_HAND(free_tree(seen);)
    }
    return fields;
}

/* Where two aircraft come too near to each other, or null. */
static Position *new_meeting(Motion *one, Motion *other) {
    Position *a = one->from, *b = other->from;
    double ax = one->to->x - a->x, ay = one->to->y - a->y, az = one->to->z - a->z;
    double bx = other->to->x - b->x, by = other->to->y - b->y, bz = other->to->z - b->z;
    double x = a->x - b->x, y = a->y - b->y, z = a->z - b->z, vx = ax - bx, vy = ay - by, vz = az - bz;
    double square = vx * vx + vy * vy + vz * vz, distance = x * x + y * y + z * z, when = 0;
    if (square != 0) {
        double half = x * vx + y * vy + z * vz, root = half * half - square * (distance - NEAR * NEAR);
        if (root < 0) return NULL;
        double begin = (-half - sqrt(root)) / square, end = (-half + sqrt(root)) / square;
        if (begin > 1 || end < 0) return NULL;
        when = begin > 0 ? begin : 0;
    } else if (distance > NEAR * NEAR) {
        return NULL;
    }
    return new_position((a->x + ax * when + b->x + bx * when) / 2, (a->y + ay * when + b->y + by * when) / 2,
                        (a->z + az * when + b->z + bz * when) / 2);
}

static void add_collisions(Vector *collisions, Vector *motions) {
    TALLY_ROOT(collisions, motions);
    for (long i = 0; i < motions->length; i++) {
        Motion *one = motions->items->at[i];
        TALLY_ROOT(one);
        for (long k = i + 1; k < motions->length; k++) {
            Motion *other = motions->items->at[k];
            TALLY_ROOT(other);
            Position *at = new_meeting(one, other);
            if (!at) continue;
            TALLY_ROOT(at);
            Collision *collision = TALLY_NEW(Collision);
            collision->one = one->sign;
            collision->other = other->sign;
            TALLY_WRITE(collision, at, at);
            append(collisions, collision);
        }
    }
}

#ifdef FREED_BY_HAND
static void free_frame(Vector *frame, Vector *motions, Tree *fields, Vector *collisions) {
    for (long i = 0; i < frame->length; i++) free(frame->items->at[i]);
    for (long i = 0; i < motions->length; i++) {
        Motion *motion = motions->items->at[i];
        if (motion->from != motion->to) free(motion->from); /* the other one is in the state */
        free(motion);
    }
    for (Node *node = first_of(fields->root); node; node = next_of(node)) free_vector(node->value);
    for (long i = 0; i < collisions->length; i++) {
        free(((Collision *)collisions->items->at[i])->at);
        free(collisions->items->at[i]);
    }
    free_vector(frame);
    free_vector(motions);
    free_tree(fields);
    free_vector(collisions);
}
#endif

static uint64_t run_frame(Tree *state, long aircraft, long number) {
    TALLY_ROOT(state);
    Vector *frame = new_frame(aircraft, number / 10.0, number);
    TALLY_ROOT(frame);
    Vector *motions = new_motions(state, frame);
    TALLY_ROOT(motions);
    Tree *fields = new_fields(motions);
    TALLY_ROOT(fields);
    Vector *collisions = new_vector(4);
    TALLY_ROOT(collisions);
    uint64_t sum = 0;
    for (Node *node = first_of(fields->root); node; node = next_of(node)) {
        TALLY_ROOT(node);
        Vector *touching = node->value;
        TALLY_ROOT(touching);
        if (touching->length > 1) add_collisions(collisions, touching);
        sum = mix(sum, touching->length);
    }
    for (long i = 0; i < collisions->length; i++) {
        Collision *collision = collisions->items->at[i];
        sum = mix(sum, collision->one + 1000 * collision->other + (long)collision->at->y);
    }
    BY_HAND(free_frame(frame, motions, fields, collisions);)
    return sum;
}

static uint64_t cd(long size) {
    Tree *state = TALLY_NEW(Tree);
    TALLY_ROOT(state);
    uint64_t sum = 0;
    for (long number = 0; number < size; number++) {
        sum = mix(sum, run_frame(state, size < 10 ? 10 : 300, number));
        tick();
    }
    return sum;
}
PROGRAM(cd, 2500, 20, 5)
