/* Code that knows nothing of roots. */
void native_store(void **slot, void *word) { *slot = word; }
