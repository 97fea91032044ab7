import Foundation
import Synchronization
import TestSupport

/// A connection between phones and a server that loses, truncates and repeats requests and answers, in a random order
/// each round. It supports only the HTTP that ``OverlandPhone`` sends: one request per connection, with its length in
/// the header.
final class BadLine: Sendable {
    /// The fate of one request.
    enum Fate: CaseIterable {
        case passes, requestIsLost, requestBreaksOff, requestComesTwice, answerIsLost, answerBreaksOff
    }

    private struct State {
        var round: [Fate] = []
        var counts: [Fate: Int] = [:]

        mutating func next() -> Fate {
            if self.round.isEmpty { self.round = Fate.allCases.shuffled() }
            let fate = self.round.removeLast()
            self.counts[fate, default: 0] += 1
            return fate
        }
    }

    /// The port for phones on 127.0.0.1.
    let port: Int
    private let listener: Int32
    private let server: Int
    private let state = Mutex(State())

    /// The number of requests with each fate so far.
    var fates: [Fate: Int] { self.state.withLock { $0.counts } }

    /// - Parameter server: The server's port on 127.0.0.1.
    init(to server: Int) throws {
        self.server = server
        self.port = try LoopbackPort.free()
        self.listener = try LoopbackPort.listen(self.port)
        let listener = self.listener
        Thread.detachNewThread { [weak self] in
            while case let phone = accept(listener, nil, nil), phone >= 0, let self {
                let (fate, server) = (self.state.withLock { $0.next() }, self.server)
                // Both ends are closed after the exchange, with any result.
                Task { try? await Self.forward(RawConnection(accepted: phone), to: server, fate) }
            }
            close(listener)
        }
    }

    deinit { shutdown(self.listener, Int32(SHUT_RDWR)) }

    private static func forward(_ phone: RawConnection, to server: Int, _ fate: Fate) async throws {
        let request = try await phone.read(until: self.isWhole)
        switch fate {
        case .passes: try await phone.sendAll(self.answer(of: server, to: request))
        case .requestIsLost: break
        case .requestBreaksOff: try await RawConnection(port: server).sendAll(Array(request.prefix(request.count / 2)))
        case .requestComesTwice:
            async let first = self.answer(of: server, to: request)
            async let second = self.answer(of: server, to: request)
            _ = try await first
            try await phone.sendAll(second)
        case .answerIsLost: _ = try await self.answer(of: server, to: request)
        case .answerBreaksOff:
            let answer = try await self.answer(of: server, to: request)
            try await phone.sendAll(Array(answer.dropLast(Int.random(in: 1...max(1, answer.count)))))
        }
    }

    private static func isWhole(_ request: [UInt8]) -> Bool {
        guard let end = request.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return false }
        let head = String(decoding: request[..<end], as: UTF8.self)
        let length = head.firstMatch(of: #/Content-Length: (\d+)/#).flatMap { Int($0.1) }
        return request.count >= end + (length ?? 0)
    }

    /// Sends the request and returns the answer. The server closes the connection after it.
    private static func answer(of server: Int, to request: [UInt8]) async throws -> [UInt8] {
        let connection = try RawConnection(port: server)
        try await connection.sendAll(request)
        return try await connection.read(within: .seconds(60))
    }
}
