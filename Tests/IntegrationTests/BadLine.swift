import Foundation
import Synchronization
import TestSupport

/// A line between phones and a server on which requests and answers get lost, break off, and come twice, in an order that is
/// drawn anew each round. It speaks of HTTP only what ``OverlandPhone`` does: one request a connection, its length in the head.
final class BadLine: Sendable {
    /// What happens to a request.
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

    /// Where phones reach it, on 127.0.0.1.
    let port: Int
    private let listener: Int32
    private let server: Int
    private let state = Mutex(State())

    /// What happened so far, and how often.
    var fates: [Fate: Int] { self.state.withLock { $0.counts } }

    /// - Parameter server: Where the server listens, on 127.0.0.1.
    init(to server: Int) throws {
        self.server = server
        self.port = try LoopbackPort.free()
        self.listener = try LoopbackPort.listen(self.port)
        let listener = self.listener
        Thread.detachNewThread { [weak self] in
            while case let phone = accept(listener, nil, nil), phone >= 0, let self {
                let (fate, server) = (self.state.withLock { $0.next() }, self.server)
                // Both ends are closed with it, whatever became of them.
                Task { try? await Self.carry(RawConnection(accepted: phone), to: server, fate) }
            }
            close(listener)
        }
    }

    deinit { shutdown(self.listener, Int32(SHUT_RDWR)) }

    private static func carry(_ phone: RawConnection, to server: Int, _ fate: Fate) async throws {
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

    /// The server closes after it.
    private static func answer(of server: Int, to request: [UInt8]) async throws -> [UInt8] {
        let connection = try RawConnection(port: server)
        try await connection.sendAll(request)
        return try await connection.read(within: .seconds(60))
    }
}
