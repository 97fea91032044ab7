import CMosquitto
import Glibc
import TrackingCore

/// What an attempt needs before it can open a socket.
struct PreparedEndpoint: Sendable {
    /// Numeric addresses, in the order to try; not empty.
    var addresses: [String]
    /// The certificates; `nil` without TLS.
    var tls: TLSContext?
}

/// Looks names up and reads certificates on a thread of its own: both may take long, and the loop must not.
enum NameResolver {
    typealias Completion = @Sendable (Result<PreparedEndpoint, TrackingError>) -> Void

    /// Prepares an endpoint; `completion` is called at once where that takes no time, else on another thread.
    static func prepare(_ endpoint: MQTTEndpoint, _ tls: MQTTConfiguration.TLS, completion: @escaping Completion) {
        if !endpoint.isTLS, NumericAddress.isNumeric(endpoint.host) {
            return completion(.success(PreparedEndpoint(addresses: [endpoint.host], tls: nil)))
        }
        let isStarted = DetachedThread.start(name: "mqtt-lookup") {
            completion(Result { () throws(TrackingError) in try Self.work(endpoint, tls) })
        }
        if !isStarted {
            completion(.failure(TrackingError(.brokerUnreachable, "no thread could be started to look up a name")))
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
            throw TrackingError(.brokerUnreachable, "the name '\(host)' could not be looked up: \(text)")
        }
        defer { freeaddrinfo(list) }
        let addresses = sequence(first: list, next: { $0.pointee.ai_next }).compactMap { self.text(of: $0.pointee) }
        guard !addresses.isEmpty else {
            throw TrackingError(.brokerUnreachable, "the name '\(host)' has no address")
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

/// A thread that nobody waits for.
enum DetachedThread {
    private final class Body {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Starts a thread; `false` when the system has none left.
    static func start(name: String, _ run: @escaping @Sendable () -> Void) -> Bool {
        let body = Unmanaged.passRetained(Body(name: name, run: run))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                // The reference that was handed over below.
                let body = Unmanaged<Body>.fromOpaque(context!).takeRetainedValue()
                godwit_name_thread(body.name)
                body.run()
                return nil
            }, body.toOpaque())
        guard code == 0 else {
            body.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
