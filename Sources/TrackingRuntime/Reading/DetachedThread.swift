private import SystemLibrary

/// A thread outside of the cooperative pool, for calls that block. Nothing waits for its end.
package enum DetachedThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs a closure on a new thread.
    ///
    /// - Parameters:
    ///   - stackSize: The bytes of the thread's stack; `nil` for the system's default.
    ///   - body: The work of the thread, which ends when `body` returns.
    /// - Returns: `false` when the system has no thread left; `body` does not run then.
    package static func start(stackSize: Int? = 256 * 1024, _ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Body(body))
        let result = pthread_create(
            &thread, &attributes,
            { context in
                // The context is the retained body from below, and this thread releases it.
                Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        if result != 0 { context.release() }
        return result == 0
    }
}
