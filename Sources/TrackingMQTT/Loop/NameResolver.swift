import CMosquitto
import SystemLibrary
import TrackingCore
import TrackingRuntime

/// The IP addresses and certificates that an attempt to connect needs before it opens a socket.
struct PreparedEndpoint: Sendable {
    /// The broker's numeric IP addresses, in the order of the attempts; not empty.
    var addresses: [String]
    /// The loaded certificates; `nil` for a connection without TLS.
    var tls: TLSContext?
}

/// Looks up host names and reads certificate files on a separate thread, because both may block for long.
enum NameResolver {
    typealias Completion = @Sendable (Result<PreparedEndpoint, TrackingError>) -> Void

    /// Looks up an endpoint's host name and reads its certificate files, and passes the result to `completion`. The
    /// closure is called at once if neither is needed, or with an error if no thread can be started; otherwise on
    /// another thread.
    static func prepare(_ endpoint: MQTTEndpoint, _ tls: MQTTConfiguration.TLS, completion: @escaping Completion) {
        if !endpoint.isTLS, NumericAddress.isNumeric(endpoint.host) {
            return completion(.success(PreparedEndpoint(addresses: [endpoint.host], tls: nil)))
        }
        let isStarted = DetachedThread.start(stackSize: nil) {
            godwit_name_thread("mqtt-lookup")
            completion(Result { () throws(TrackingError) in try Self.work(endpoint, tls) })
        }
        if !isStarted {
            completion(
                .failure(
                    TrackingError(
                        .brokerUnreachable,
                        "cannot look up the host '\(endpoint.host)': the system cannot start another thread. End other programs, or raise the limit of threads"
                    )))
        }
    }

    private static func work(
        _ endpoint: MQTTEndpoint, _ tls: MQTTConfiguration.TLS
    ) throws(TrackingError) -> PreparedEndpoint {
        let context = endpoint.isTLS ? try TLSContext(tls, host: endpoint.host) : nil
        return PreparedEndpoint(addresses: try self.addresses(of: endpoint.host), tls: context)
    }

    private static func addresses(of host: String) throws(TrackingError) -> [String] {
        if NumericAddress.isNumeric(host) { return [host] }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0, let list else {
            let text = String(cString: gai_strerror(code))
            throw TrackingError(
                .brokerUnreachable, "cannot look up the host '\(host)': \(text). Check the name and the DNS server")
        }
        defer { freeaddrinfo(list) }
        let addresses = sequence(first: list, next: { $0.pointee.ai_next }).compactMap { self.text(of: $0.pointee) }
        guard !addresses.isEmpty else {
            throw TrackingError(.brokerUnreachable, "cannot connect: the host '\(host)' has no address. Check the name")
        }
        return addresses
    }

    private static func text(of address: addrinfo) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = getnameinfo(
            address.ai_addr, address.ai_addrlen, &buffer, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST)
        guard code == 0 else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
