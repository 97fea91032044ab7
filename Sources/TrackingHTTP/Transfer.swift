import CCurl

/// An HTTP request in progress, with the part of its answer that has arrived.
///
/// Unchecked: the caller's thread makes it and hands it over under the lock of its ``TransferLoop``; from then on only the
/// thread of that loop uses it.
final class Transfer: @unchecked Sendable {
    private let request: HTTPClient.Request
    private let limit: Duration
    private let maximumBytes: Int
    private var body: [UInt8] = []
    private var isTooLong = false
    private var headerBytes = 0
    /// The largest number of bytes of an answer's headers.
    private static let maximumHeaderBytes = 262_144
    /// `true` once the caller was cancelled.
    var isCancelled = false
    private var headers: UnsafeMutablePointer<curl_slist>?
    private let error = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// libcurl's handle; `nil` before ``begin(with:)`` and after the end.
    private(set) var handle: UnsafeMutableRawPointer?
    private var continuation: CheckedContinuation<Result<HTTPClient.Answer, HTTPClient.Failure>, Never>?

    init(_ request: HTTPClient.Request, within limit: Duration, upTo maximumBytes: Int) {
        self.request = request
        self.limit = limit
        self.maximumBytes = maximumBytes
        self.error.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        godwit_curl_slist_free_all(self.headers)
        self.error.deallocate()
    }

    /// Stores the continuation that receives the result.
    func expect(_ continuation: CheckedContinuation<Result<HTTPClient.Answer, HTTPClient.Failure>, Never>) {
        self.continuation = continuation
    }

    /// Gives the request to a handle of libcurl, which has no settings yet. The loop retains this transfer until it has
    /// reset the handle.
    func begin(with handle: UnsafeMutableRawPointer) {
        self.handle = handle
        self.setAddress(of: handle)
        self.setMessage(of: handle)
        godwit_curl_set_number(handle, CURLOPT_TIMEOUT_MS, max(1, self.limit.milliseconds))
        godwit_curl_set_number(handle, CURLOPT_CONNECTTIMEOUT_MS, max(1, min(self.limit.milliseconds, 10_000)))
        godwit_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, self.error)
        let context = Unmanaged.passUnretained(self).toOpaque()
        godwit_curl_set_readers(
            handle,
            { bytes, size, count, context in
                // The context is this transfer, which its loop retains until it has reset the handle.
                Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue().receivedHeader(size * count)
            },
            { bytes, size, count, context in
                Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue().received(bytes, size * count)
            }, context)
    }

    private func setAddress(of handle: UnsafeMutableRawPointer) {
        godwit_curl_set_pointer(handle, CURLOPT_URL, self.request.url)
        godwit_curl_set_pointer(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        godwit_curl_set_number(handle, CURLOPT_FOLLOWLOCATION, 0)
        godwit_curl_set_pointer(handle, CURLOPT_PROXY, "")
        godwit_curl_set_number(handle, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // Without this, libcurl uses the signal of an alarm to end a look-up of a name.
        godwit_curl_set_number(handle, CURLOPT_NOSIGNAL, 1)
        // Without this, the end of a transfer waits for its look-up, and all other transfers of the loop with it.
        godwit_curl_set_number(handle, CURLOPT_QUICK_EXIT, 1)
    }

    private func setMessage(of handle: UnsafeMutableRawPointer) {
        godwit_curl_set_pointer(handle, CURLOPT_CUSTOMREQUEST, self.request.method.rawValue)
        if self.request.method == .post || !self.request.body.isEmpty {
            godwit_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(self.request.body.count))
            self.request.body.withUnsafeBytes { bytes in
                let isEmpty = bytes.baseAddress == nil
                if isEmpty { godwit_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, "") }
                if !isEmpty { godwit_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress) }
            }
        }
        for (name, value) in self.request.headers {
            self.headers = godwit_curl_slist_append(self.headers, "\(name): \(value)")
        }
        // libcurl would wait for a consent of the server before it sends a large body.
        self.headers = godwit_curl_slist_append(self.headers, "Expect:")
        godwit_curl_set_pointer(handle, CURLOPT_HTTPHEADER, self.headers)
    }

    /// Counts the bytes of a header.
    ///
    /// - Returns: The number of bytes; zero ends the transfer.
    private func receivedHeader(_ count: Int) -> Int {
        self.headerBytes += count
        return self.headerBytes <= Self.maximumHeaderBytes ? count : 0
    }

    /// Takes bytes of the body.
    ///
    /// - Returns: The number of bytes that were taken; fewer than `count` end the transfer.
    private func received(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let taken = min(count, self.maximumBytes - self.body.count)
        self.body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: taken))
        self.isTooLong = taken < count
        return taken
    }

    /// Ends the transfer with the answer, or with a failure if no status has arrived.
    ///
    /// - Parameter code: libcurl's result.
    func end(_ code: CURLcode) {
        guard let handle = self.handle, godwit_curl_status(handle) >= 200 else {
            let reason = self.error.pointee == 0 ? godwit_curl_easy_strerror(code) : UnsafePointer(self.error)
            return self.fail(reason.map { String(cString: $0) } ?? "no answer")
        }
        let answer = HTTPClient.Answer(
            status: godwit_curl_status(handle), body: self.body,
            incompleteness: self.isTooLong ? .tooLong : code == CURLE_OK ? nil : .cut,
            retryAfter: .seconds(godwit_curl_retry_after(handle)))
        self.resume(.success(answer))
    }

    /// Ends the transfer with a failure.
    func fail(_ reason: String) { self.resume(.failure(HTTPClient.Failure(description: reason))) }

    private func resume(_ result: Result<HTTPClient.Answer, HTTPClient.Failure>) {
        self.handle = nil
        self.continuation?.resume(returning: result)
        self.continuation = nil
    }
}

extension Duration {
    fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
