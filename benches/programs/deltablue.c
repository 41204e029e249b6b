/* deltablue: an incremental solver of constraints, after Maloney and Borning and "Are We Fast Yet". A network of
 * variables and constraints lives for a test: a chain of equal variables, or pairs that a scale ties. Constraints and
 * variables refer to each other. Plans, and the lists that the planner works with, die at each change.
 */
#include "program.h"
#include "vector.h"

/* Strengths, the strongest first. */
enum { REQUIRED, STRONG_PREFERRED, PREFERRED, STRONG_DEFAULT, NORMAL, WEAK_DEFAULT, WEAKEST };
enum { STAY, EDIT, EQUAL, SCALE };
enum { FORWARD, BACKWARD, NONE };

struct Constraint;
typedef struct Variable {
    Vector *constraints;
    struct Constraint *determined_by;
    long value, mark;
    int walk_strength, stays;
} Variable;
TALLY_TYPE(Variable, constraints, determined_by);

/* One that ties one variable (a stay or an edit), or two. A scale has two more, which are only read. */
typedef struct Constraint {
    Variable *first, *second, *factor, *offset;
    int kind, strength, direction;
} Constraint;
TALLY_TYPE(Constraint, first, second, factor, offset);

typedef struct Planner {
    Vector *all_constraints, *all_variables;
    long mark;
} Planner;
TALLY_TYPE(Planner, all_constraints, all_variables);

static inline int is_stronger(int one, int other) { return one < other; }
static inline int weaker(int one, int other) { return one > other ? one : other; }
static inline int ties_two(Constraint *c) { return c->kind >= EQUAL; }
static inline int is_satisfied(Constraint *c) { return c->direction != NONE; }
static inline int is_input(Constraint *c) { return c->kind == EDIT; }
static inline Variable *output_of(Constraint *c) { return c->direction == FORWARD && ties_two(c) ? c->second : c->first; }
static inline Variable *input_of(Constraint *c) { return c->direction == FORWARD ? c->first : c->second; }

static Variable *new_variable(Planner *planner, long value) {
    TALLY_ROOT(planner);
    Variable *variable = TALLY_NEW(Variable);
    TALLY_ROOT(variable);
    variable->value = value;
    variable->mark = 0;
    variable->walk_strength = WEAKEST;
    variable->stays = 1;
    TALLY_WRITE(variable, constraints, new_vector(2));
    append(planner->all_variables, variable);
    return variable;
}

/* Whether all variables that the constraint reads are marked, or stay, or have nothing that determines them. */
static int knows_inputs(Constraint *c, long mark) {
    if (!ties_two(c)) return 1;
    Variable *in[3] = {input_of(c), c->factor, c->offset};
    for (int i = 0; i < (c->kind == SCALE ? 3 : 1); i++)
        if (in[i]->mark != mark && !in[i]->stays && in[i]->determined_by) return 0;
    return 1;
}

static void choose_direction(Constraint *c, long mark) {
    c->direction = NONE;
    if (!ties_two(c)) {
        if (c->first->mark != mark && is_stronger(c->strength, c->first->walk_strength)) c->direction = FORWARD;
    } else if (c->first->mark == mark) {
        if (c->second->mark != mark && is_stronger(c->strength, c->second->walk_strength)) c->direction = FORWARD;
    } else if (c->second->mark == mark) {
        if (is_stronger(c->strength, c->first->walk_strength)) c->direction = BACKWARD;
    } else {
        Variable *weakest = c->first->walk_strength > c->second->walk_strength ? c->first : c->second;
        if (is_stronger(c->strength, weakest->walk_strength)) c->direction = weakest == c->first ? BACKWARD : FORWARD;
    }
}

static void mark_inputs(Constraint *c, long mark) {
    if (!ties_two(c)) return;
    input_of(c)->mark = mark;
    if (c->kind == SCALE) c->factor->mark = c->offset->mark = mark;
}

static void execute(Constraint *c) {
    if (c->kind == EQUAL)
        output_of(c)->value = input_of(c)->value;
    else if (c->kind == SCALE && c->direction == FORWARD)
        c->second->value = c->first->value * c->factor->value + c->offset->value;
    else if (c->kind == SCALE)
        c->first->value = (c->second->value - c->offset->value) / c->factor->value;
}

/* What the output's strength and constancy are, after those of the inputs. */
static void recalculate(Constraint *c) {
    Variable *out = output_of(c);
    TALLY_ROOT(c, out);
    if (!ties_two(c)) {
        out->walk_strength = c->strength;
        out->stays = !is_input(c);
    } else {
        Variable *in = input_of(c);
        out->walk_strength = weaker(c->strength, in->walk_strength);
        out->stays = in->stays && (c->kind != SCALE || (c->factor->stays && c->offset->stays));
    }
    if (out->stays) execute(c);
}

/* Appends to `todo` the constraints that read the variable. */
static void add_readers(Variable *variable, Vector *todo) {
    TALLY_ROOT(variable, todo);
    Vector *constraints = variable->constraints;
    TALLY_ROOT(constraints);
    for (long i = 0; i < constraints->length; i++) {
        Constraint *reader = constraints->items->at[i];
        if (reader != variable->determined_by && is_satisfied(reader)) append(todo, reader);
    }
}

/* Recalculates all that follows from the constraint. */
static void propagate(Constraint *c, long mark) {
    TALLY_ROOT(c);
    Vector *todo = new_vector(4);
    TALLY_ROOT(todo);
    append(todo, c);
    while (todo->length > 0) {
        Constraint *next = remove_last(todo);
        TALLY_ROOT(next);
        if (output_of(next)->mark == mark) abort(); /* it follows from itself: these tests have no cycle of constraints */
        recalculate(next);
        add_readers(output_of(next), todo);
    }
    free_vector(todo);
}

/* Satisfies the constraint, if it can be; the constraint that determined its output until now is returned. */
static Constraint *satisfy(Constraint *c, long mark) {
    TALLY_ROOT(c);
    choose_direction(c, mark);
    if (!is_satisfied(c)) {
        if (c->strength == REQUIRED) abort();
        return NULL;
    }
    mark_inputs(c, mark);
    Variable *out = output_of(c);
    TALLY_ROOT(out);
    Constraint *overridden = out->determined_by;
    TALLY_ROOT(overridden);
    if (overridden) overridden->direction = NONE;
    TALLY_WRITE(out, determined_by, c);
    propagate(c, mark);
    out->mark = mark;
    return overridden;
}

/* Satisfies a constraint, and then those that had to make room for it. */
static void add_incrementally(Planner *planner, Constraint *c) {
    TALLY_ROOT(planner, c);
    long mark = ++planner->mark;
    while (c) c = satisfy(c, mark);
}

static Constraint *add_constraint(Planner *planner, int kind, int strength, Variable *first, Variable *second, Variable *factor,
                                  Variable *offset) {
    TALLY_ROOT(planner, first, second, factor, offset);
    Constraint *c = TALLY_NEW(Constraint);
    TALLY_ROOT(c);
    c->kind = kind;
    c->strength = strength;
    c->direction = NONE;
    TALLY_WRITE(c, first, first);
    TALLY_WRITE(c, second, second);
    TALLY_WRITE(c, factor, factor);
    TALLY_WRITE(c, offset, offset);
    append(planner->all_constraints, c);
    append(first->constraints, c);
    if (second) append(second->constraints, c);
    if (factor) append(factor->constraints, c), append(offset->constraints, c);
    add_incrementally(planner, c);
    return c;
}

static void take_from_variables(Constraint *c) {
    TALLY_ROOT(c);
    remove_item(c->first->constraints, c);
    if (c->second) remove_item(c->second->constraints, c);
    if (c->factor) remove_item(c->factor->constraints, c), remove_item(c->offset->constraints, c);
    c->direction = NONE;
}

/* The constraints that could be satisfied now that nothing determines `out`; what followed from it is recalculated. */
static Vector *unsatisfied_after(Variable *out) {
    TALLY_ROOT(out);
    TALLY_WRITE(out, determined_by, NULL);
    out->walk_strength = WEAKEST;
    out->stays = 1;
    Vector *unsatisfied = new_vector(4), *todo = NULL;
    TALLY_ROOT(unsatisfied, todo);
    todo = new_vector(4);
    append(todo, out);
    while (todo->length > 0) {
        Variable *variable = remove_last(todo);
        TALLY_ROOT(variable);
        for (long i = 0; i < variable->constraints->length; i++) {
            Constraint *c = variable->constraints->items->at[i];
            TALLY_ROOT(c);
            if (!is_satisfied(c)) {
                append(unsatisfied, c);
            } else if (c != variable->determined_by) {
                recalculate(c);
                append(todo, output_of(c));
            }
        }
    }
    free_vector(todo);
    return unsatisfied;
}

static void remove_constraint(Planner *planner, Constraint *c) {
    TALLY_ROOT(planner, c);
    if (!is_satisfied(c)) {
        take_from_variables(c);
        return;
    }
    Variable *out = output_of(c);
    TALLY_ROOT(out);
    take_from_variables(c);
    Vector *unsatisfied = unsatisfied_after(out);
    TALLY_ROOT(unsatisfied);
    for (int strength = REQUIRED; strength <= WEAKEST; strength++) {
        for (long i = 0; i < unsatisfied->length; i++) {
            Constraint *next = unsatisfied->items->at[i];
            if (next->strength == strength && !is_satisfied(next)) add_incrementally(planner, next);
        }
    }
    free_vector(unsatisfied);
}

/* The constraints to execute, in order, when the variable of this edit has changed. */
static Vector *new_plan(Planner *planner, Constraint *edit) {
    TALLY_ROOT(planner, edit);
    long mark = ++planner->mark;
    Vector *plan = new_vector(4), *todo = NULL;
    TALLY_ROOT(plan, todo);
    todo = new_vector(4);
    append(todo, edit);
    while (todo->length > 0) {
        Constraint *c = remove_last(todo);
        TALLY_ROOT(c);
        if (output_of(c)->mark == mark || !knows_inputs(c, mark)) continue;
        append(plan, c);
        output_of(c)->mark = mark;
        add_readers(output_of(c), todo);
    }
    free_vector(todo);
    return plan;
}

static void change(Planner *planner, Variable *variable, long value) {
    TALLY_ROOT(planner, variable);
    Constraint *edit = add_constraint(planner, EDIT, PREFERRED, variable, NULL, NULL, NULL);
    TALLY_ROOT(edit);
    Vector *plan = new_plan(planner, edit);
    TALLY_ROOT(plan);
    for (int i = 0; i < 10; i++) {
        variable->value = value;
        for (long at = 0; at < plan->length; at++) execute(plan->items->at[at]);
    }
    free_vector(plan);
    remove_constraint(planner, edit);
    remove_last(planner->all_constraints); /* it was the last to be added */
    FREE(edit);
}

static Planner *new_planner(void) {
    Planner *planner = TALLY_NEW(Planner);
    TALLY_ROOT(planner);
    planner->mark = 0;
    TALLY_WRITE(planner, all_constraints, new_vector(16));
    TALLY_WRITE(planner, all_variables, new_vector(16));
    return planner;
}

#ifdef FREED_BY_HAND
static void free_planner(Planner *planner) {
    for (long i = 0; i < planner->all_constraints->length; i++) free(planner->all_constraints->items->at[i]);
    for (long i = 0; i < planner->all_variables->length; i++) {
        Variable *variable = planner->all_variables->items->at[i];
        free_vector(variable->constraints);
        free(variable);
    }
    free_vector(planner->all_constraints);
    free_vector(planner->all_variables);
    free(planner);
}
#endif

/* A long chain of equal variables: what the first becomes the last becomes. */
static long chain_test(long length) {
    Planner *planner = new_planner();
    TALLY_ROOT(planner);
    Variable *first = new_variable(planner, 0), *last = first;
    TALLY_ROOT(first, last);
    for (long i = 0; i < length; i++) {
        Variable *next = new_variable(planner, 0);
        TALLY_ROOT(next);
        add_constraint(planner, EQUAL, REQUIRED, last, next, NULL, NULL);
        last = next;
    }
    add_constraint(planner, STAY, STRONG_DEFAULT, last, NULL, NULL, NULL);
    for (long value = 1; value <= 10; value++) {
        change(planner, first, value);
        if (last->value != value) abort();
    }
    long sum = last->value + planner->mark;
    BY_HAND(free_planner(planner);)
    return sum;
}

/* Pairs of variables that one factor and one offset tie. */
static long projection_test(long pairs) {
    Planner *planner = new_planner();
    TALLY_ROOT(planner);
    Variable *factor = new_variable(planner, 10);
    TALLY_ROOT(factor);
    Variable *offset = new_variable(planner, 1000), *from = NULL, *to = NULL;
    TALLY_ROOT(offset, from, to);
    long sum = 0;
    for (long i = 0; i < pairs; i++) {
        from = new_variable(planner, i);
        to = new_variable(planner, i);
        add_constraint(planner, STAY, NORMAL, from, NULL, NULL, NULL);
        add_constraint(planner, SCALE, REQUIRED, from, to, factor, offset);
    }
    change(planner, from, 17);
    if (to->value != 1170) abort();
    change(planner, to, 1050);
    if (from->value != 5) abort();
    change(planner, factor, 5);
    change(planner, offset, 2000);
    for (long i = 2; i < planner->all_variables->length; i++) sum += ((Variable *)planner->all_variables->items->at[i])->value;
    BY_HAND(free_planner(planner);)
    return sum;
}

static uint64_t deltablue(long size) {
    uint64_t sum = 0;
    for (long left = size; left > 0; left -= 100) {
        long length = left < 100 ? left : 100;
        sum = mix(sum, chain_test(length));
        tick();
        sum = mix(sum, projection_test(length));
        tick();
    }
    return sum;
}
PROGRAM(deltablue, 300000, 200, 4)
