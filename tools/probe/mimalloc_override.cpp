// Linked at configure time against mimalloc and nothing else: succeeds only if that library defines malloc itself.
extern "C" void* malloc(decltype(sizeof 0));
extern "C" void _start() {
    (void)malloc(1);
}
