private import CCurl

/// The handles of libcurl that have no transfer. A handle that is used again needs less processor time than a new one.
struct TransferHandles: ~Copyable {
    /// The maximum number of handles that are kept.
    private static let maximum = 8

    private var idle: [UnsafeMutableRawPointer] = []

    init() {}

    deinit { for handle in self.idle { godwit_curl_easy_cleanup(handle) } }

    /// Returns a handle without settings; `nil` if libcurl has no memory for it.
    mutating func take() -> UnsafeMutableRawPointer? { self.idle.popLast() ?? godwit_curl_easy_init() }

    /// Ends a transfer, and keeps its handle for another one.
    mutating func release(_ handle: UnsafeMutableRawPointer, of transfer: Transfer, end: () -> Void) {
        withExtendedLifetime(transfer) {
            end()
            // The settings have addresses within the transfer.
            godwit_curl_easy_reset(handle)
        }
        if self.idle.count < Self.maximum { self.idle.append(handle) } else { godwit_curl_easy_cleanup(handle) }
    }
}
