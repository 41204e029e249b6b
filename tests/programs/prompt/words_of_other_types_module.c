/* Types that read words in two other ways. */
#include <tally_gc.h>

typedef uint64_t Odd;
TALLY_TAGGED_TYPE(Odd, 1, 1, ~UINT64_C(1));
typedef struct OddBox { long before; Odd word; } OddBox;
TALLY_TYPE_TAGGED(OddBox, Odd, word);
typedef struct OddBoxes { uint64_t length; Odd at[]; } OddBoxes;
TALLY_ARRAY_TYPE_TAGGED(OddBoxes, Odd, length, at);
typedef uint64_t Nan;
TALLY_TAGGED_TYPE(Nan, UINT64_C(0xffff) << 48, UINT64_C(0xfffc) << 48, (UINT64_C(1) << 48) - 1);
typedef struct NanBox { long before; Nan word; } NanBox;
TALLY_TYPE_TAGGED(NanBox, Nan, word);

void *make_odd(void) { return TALLY_NEW(OddBox); }
void *make_odd_array(uint64_t length) { return TALLY_NEW_ARRAY(OddBoxes, length); }
void *make_nan(void) { return TALLY_NEW(NanBox); }
