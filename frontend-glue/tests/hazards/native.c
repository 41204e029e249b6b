/* Native helpers of the hazards: an exception that runs every cleanup on its way, and calls that come back. */

#include <stdlib.h>
#include <unwind.h>

static _Unwind_Reason_Code go_on(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                 struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *unused) {
    (void)version, (void)kind, (void)exception, (void)context, (void)unused;
    if (actions & _UA_END_OF_STACK) abort();
    return _URC_NO_REASON;
}

/* Unwinds until a landing pad does not resume. */
void throw(void) {
    static struct _Unwind_Exception exception;
    _Unwind_ForcedUnwind(&exception, go_on, NULL);
    abort();
}

/* Calls back. */
void *native_call(void *(*function)(void *), void *argument) {
    volatile char frame[200];
    frame[0] = 1;
    void *result = function(argument);
    frame[1] = 2;
    return result;
}
