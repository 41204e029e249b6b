/* queens: eight queens on a board, after "Are We Fast Yet". A board of four arrays lives for a search, then dies. */
#include "program.h"

enum { SIDE = 8 };

typedef struct Flags {
    uint64_t length;
    char at[];
} Flags;
TALLY_DATA_ARRAY_TYPE(Flags, length, at);

typedef struct Board {
    Flags *rows, *rising, *falling, *queens;
} Board;
TALLY_TYPE(Board, rows, rising, falling, queens);

static Flags *new_flags(long length, char value) {
    Flags *flags = TALLY_NEW_ARRAY(Flags, length);
    memset(flags->at, value, length);
    return flags;
}

static Board *new_board(void) {
    Board *board = TALLY_NEW(Board);
    TALLY_ROOT(board);
    TALLY_WRITE(board, rows, new_flags(SIDE, 1));
    TALLY_WRITE(board, rising, new_flags(2 * SIDE, 1));
    TALLY_WRITE(board, falling, new_flags(2 * SIDE, 1));
    TALLY_WRITE(board, queens, new_flags(SIDE, -1));
    return board;
}

static void mark(Board *board, int row, int column, char is_free) {
    board->rows->at[row] = is_free;
    board->rising->at[column + row] = is_free;
    board->falling->at[column - row + SIDE - 1] = is_free;
}

static int places_queen(Board *board, int column) {
    TALLY_ROOT(board);
    for (int row = 0; row < SIDE; row++) {
        if (!board->rows->at[row] || !board->rising->at[column + row] || !board->falling->at[column - row + SIDE - 1]) continue;
        board->queens->at[row] = column;
        mark(board, row, column, 0);
        if (column == SIDE - 1 || places_queen(board, column + 1)) return 1;
        mark(board, row, column, 1);
    }
    return 0;
}

static uint64_t queens(long size) {
    uint64_t sum = 0;
    for (long round = 0; round < size; round++) {
        Board *board = new_board();
        TALLY_ROOT(board);
        sum = mix(sum, places_queen(board, 0));
        for (int row = 0; row < SIDE; row++) sum = mix(sum, board->queens->at[row]);
        BY_HAND(free(board->rows); free(board->rising); free(board->falling); free(board->queens); free(board);)
        if (!(round & 7)) tick();
    }
    return sum;
}
PROGRAM(queens, 500000, 500, 5)
