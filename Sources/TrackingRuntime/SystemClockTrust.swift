private import SystemLibrary

/// Reads from the kernel if the device's clock is synchronised.
package enum SystemClockTrust {
    /// `true` while the kernel reports its clock as synchronised, by NTP or by a GPS receiver (`adjtimex`). `false`
    /// also if the kernel cannot be asked.
    package static var isSynchronized: Bool {
        // Looked up by name, since Swift's view of the C library leaves out the header that declares it.
        guard let symbol = dlsym(nil, "adjtimex") else { return false }
        typealias Function = @convention(c) (UnsafeMutableRawPointer) -> CInt
        let adjtimex = unsafeBitCast(symbol, to: Function.self)
        // Zeros: nothing is to be changed. No `struct timex` is larger than this.
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { buffer in
            guard let address = buffer.baseAddress else { return false }
            memset(address, 0, buffer.count)
            // TIME_ERROR (5): the clock is not synchronised; below 0: not allowed to ask.
            return (0..<5).contains(adjtimex(address))
        }
    }
}
