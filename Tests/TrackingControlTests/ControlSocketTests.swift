import Foundation
import Synchronization
import TestSupport
import Testing
import TrackingCore

@testable import TrackingControl

/// Servers and clients on real sockets.
@Suite(.timeLimit(.minutes(5))) struct ControlSocketTests {
    private let folder: URL
    private var path: String { self.folder.appending(path: "agent.sock").path() }

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "gw-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    /// Runs a server while `body` runs, and removes the folder.
    private func serving<Value: Sendable>(
        _ agent: FakeAgent = FakeAgent(), pause: Duration = .seconds(30), _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        return try await self.running(agent, pause: pause, body)
    }

    private func running<Value: Sendable>(
        _ agent: FakeAgent = FakeAgent(), pause: Duration = .seconds(30), _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let dispatcher = ControlDispatcher(agent)
        let server = ControlServer(path: self.path, pause: pause) { await dispatcher.answer($0, say: $1) }
        let (signs, listening) = AsyncStream.makeStream(of: Void.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { listening.finish() }
                try await server.run { listening.yield() }
            }
            defer { group.cancelAll() }
            var sign = signs.makeAsyncIterator()
            if await sign.next() == nil { try await group.next() }
            return try await body()
        }
    }

    private func switchOn() async throws -> [String: JSONValue] {
        let client = try ControlClient(paths: [self.path])
        return try await client.ask(.on)
    }

    @Test func aCommandIsAnswered() async throws {
        try await self.serving {
            let client = try ControlClient(paths: [self.path])
            #expect(try await client.ask(.sendNow) == ["records": .number(12)])
            #expect(try AgentStatus(members: await client.ask(.status)) == Samples.status)
        }
    }

    /// A status has no size limit, whereas each line of the socket has one.
    @Test func aStatusOfManyTrackablesArrivesAsItWas() async throws {
        var status = Samples.status
        status.trackables = try (0..<500).map { index in
            var trackable = Samples.status.trackables[0]
            trackable.id = try TrackableID("vehicle \"\(index)\"")
            return trackable
        }
        let many = status
        try await self.serving(FakeAgent(status: many)) {
            let client = try ControlClient(paths: [self.path])
            #expect(try AgentStatus(members: await client.status()) == many)
            #expect(try await client.ask(.sendNow) == ["records": .number(12)])
        }
    }

    /// A reader that shows an export page by page may pause for a long time.
    @Test func anExportWaitsForItsReader() async throws {
        let records = (1...4000).map { Samples.record(UInt64($0)) }
        try await self.serving(FakeAgent(records: records)) {
            let client = try ControlClient(paths: [self.path])
            var count = 0
            let result = try await client.ask(.queueExport, within: nil) { _ in
                count += 1
                if count == 1 { sleep(7) }
            }
            #expect(count == 4000 && result == ["records": .number(4000)])
        }
    }

    @Test func aFailureIsThrownAndTheConnectionRemains() async throws {
        try await self.serving {
            let client = try ControlClient(paths: [self.path])
            let failure = await #expect(throws: CommandFailure.self) { try await client.ask(.init(rawValue: "DANCE")) }
            #expect(failure?.code == .unknownCommand)
            #expect(try await client.ask(.on) == [:])
        }
    }

    @Test func progressComesBeforeTheAnswer() async throws {
        try await self.serving {
            let client = try ControlClient(paths: [self.path])
            let reported = Mutex<[Int]>([])
            let result = try await client.ask(.flush) { line in
                if case .progress(_, let done, 400) = line { reported.withLock { $0.append(done) } }
            }
            #expect(result == ["records": .number(400)])
            #expect(reported.withLock { $0 }.last == 400)
        }
    }

    @Test func manyRecordsGoThroughASmallPipe() async throws {
        let agent = FakeAgent(records: (1...5000).map { Samples.record($0) })
        try await self.serving(agent) {
            let client = try ControlClient(paths: [self.path])
            let seqs = Mutex<[Int]>([])
            _ = try await client.ask(.queueExport) { line in
                if case .item(_, let item) = line { seqs.withLock { $0.append(item["seq"]?.count ?? 0) } }
            }
            #expect(seqs.withLock { $0 } == Array(1...5000))
        }
    }

    @Test func severalClientsAreServedAtOnce() async throws {
        try await self.serving {
            let first = try ControlClient(paths: [self.path])
            let second = try ControlClient(paths: [self.path])
            for _ in 0..<20 {
                #expect(try await second.ask(.sendNow) == ["records": .number(12)])
                #expect(try await first.ask(.sendNow) == ["records": .number(12)])
            }
        }
    }

    @Test func aClientAboveTheLimitGetsAnError() async throws {
        try await self.serving {
            var clients: [ControlClient] = []
            for _ in 0..<ControlServer.maximumClients {
                let client = try ControlClient(paths: [self.path])
                _ = try await client.ask(.on)
                clients.append(client)
            }
            let failure = await #expect(throws: CommandFailure.self) {
                try await self.switchOn()
            }
            #expect(failure?.code == .busy)
            #expect(try await clients[0].ask(.on) == [:])
        }
    }

    @Test func onlyTheOwnerMayConnect() async throws {
        try await self.serving {
            let mode = try FileManager.default.attributesOfItem(atPath: self.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    /// A cleaner of temporary files may remove the socket, with or without its folder.
    @Test(arguments: [false, true]) func aRemovedSocketFileIsCreatedAgain(withFolder: Bool) async throws {
        try await self.serving(pause: .milliseconds(10)) {
            let before = try ControlClient(paths: [self.path])
            _ = try await before.ask(.on)
            try FileManager.default.removeItem(atPath: withFolder ? self.folder.path() : self.path)
            let deadline = ContinuousClock.now + .seconds(60)
            while !FileManager.default.fileExists(atPath: self.path) {
                guard ContinuousClock.now < deadline else { throw TestSupportError("there is no socket again") }
                try await Task.sleep(for: .milliseconds(2))
            }
            let answer = try await self.switchOn()
            #expect(answer == [:])
            #expect(try await before.ask(.on) == [:], "who is connected stays so")
        }
        #expect(!FileManager.default.fileExists(atPath: self.path))
    }

    @Test func theServerRemovesItsSocketFile() async throws {
        try await self.serving {}
        #expect(!FileManager.default.fileExists(atPath: self.path))
    }

    @Test func aStaleFileIsReplaced() async throws {
        let listener = try ControlSocket.listen(self.path)
        close(listener.descriptor)  // a killed program leaves its socket file behind
        #expect(FileManager.default.fileExists(atPath: self.path))
        try await self.serving {
            let answer = try await self.switchOn()
            #expect(answer == [:])
        }
    }

    @Test func aLiveAgentsSocketIsNotStolen() async throws {
        try await self.serving {
            let error = await #expect(throws: TrackingError.self) { try await self.running {} }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.contains("another agent listens on") == true)
            let answer = try await self.switchOn()
            #expect(answer == [:])
        }
    }

    @Test func aFileThatIsNoSocketIsNotRemoved() async throws {
        try Data("precious".utf8).write(to: URL(filePath: self.path))
        let error = await #expect(throws: TrackingError.self) { try await self.running {} }
        #expect(error?.code == .invalidConfiguration)
        #expect(try String(contentsOfFile: self.path, encoding: .utf8) == "precious")
        try FileManager.default.removeItem(at: self.folder)
    }

    @Test func aSocketWithoutAnAgentNamesTheRemedy() throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let error = #expect(throws: TrackingError.self) { try ControlClient(paths: [self.path]) }
        #expect(error?.code == .agentUnreachable)
        #expect(error?.message.contains("godwit-agent run") == true)
        #expect(throws: TrackingError.self) { try ControlClient(paths: [String(repeating: "x", count: 200)]) }
    }

    @Test func invalidLinesAreAnsweredAndSkipped() async throws {
        try await self.serving {
            let socket = try RawClient(self.path)
            try socket.send("what?\n{\"id\":\"1\",\"command\":\"ON\",\"time\":0}\n")
            let lines = try await socket.lines(2)
            #expect(lines[0].hasPrefix(#"{"error":{"code":"INVALID_ARGUMENTS","#) && lines[0].contains(#""id":"?""#))
            #expect(lines[1] == #"{"id":"1","ok":true,"result":{}}"#)
        }
    }

    @Test func aLineWithoutEndDoesNotFillMemory() async throws {
        try await self.serving {
            let socket = try RawClient(self.path)
            try socket.send(String(repeating: "x", count: Command.maximumBytes + 1))
            #expect(try await socket.lines(1)[0].contains("cannot read the command: it has more than 16384 bytes"))
            try await socket.waitForEnd()
        }
    }

    @Test func aClientThatLeavesMidwayAffectsNoOthers() async throws {
        try await self.serving(FakeAgent(records: (1...20_000).map { Samples.record($0) })) {
            try {
                let socket = try RawClient(self.path)
                try socket.send(#"{"id":"1","command":"QUEUE_EXPORT","time":0}"# + "\n")
            }()
            let answer = try await self.switchOn()
            #expect(answer == [:])
        }
    }

    @Test func theUsersAgentIsPreferredToTheSystems() {
        #expect(ControlSocket.candidates(environment: [:]) == ["/run/godwit/agent.sock"])
        #expect(
            ControlSocket.candidates(environment: ["XDG_RUNTIME_DIR": "/run/user/7"])
                == ["/run/user/7/godwit/agent.sock", "/run/godwit/agent.sock"])
        #expect(ControlSocket.standardPath(environment: ["XDG_RUNTIME_DIR": "/r"]) == "/r/godwit/agent.sock")
    }

    // MARK: - Files

    @Test func aFileIsReplacedAsAWhole() throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let path = self.folder.appending(path: "godwit.prom").path()
        for text in ["first\n", "second\n"] {
            try OwnFile.writeShared(text, to: path)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o644)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path()) == ["godwit.prom"])
        let secret = self.folder.appending(path: "password").path()
        try OwnFile.writeSecret(Array("hunter2".utf8), to: secret)
        #expect(try FileManager.default.attributesOfItem(atPath: secret)[.posixPermissions] as? Int == 0o600)
        #expect(throws: TrackingError.self) { try OwnFile.writeShared("x", to: "/nonexistent/file") }
        // A symbolic link is written through and a named pipe is refused. Neither is replaced.
        let link = self.folder.appending(path: "link.prom").path()
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "godwit.prom")
        try OwnFile.writeShared("third\n", to: link)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "godwit.prom")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "third\n")
        let pipe = self.folder.appending(path: "pipe").path()
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(throws: TrackingError.self) { try OwnFile.writeShared("x", to: pipe) }
        var status = stat()
        #expect(stat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    }
}

/// A client that sends arbitrary lines.
private final class RawClient {
    private let descriptor: Int32
    private var received: [UInt8] = []
    private var hasEnded = false

    init(_ path: String) throws { self.descriptor = try ControlSocket.connect(path) }

    deinit { close(self.descriptor) }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        #expect(write(self.descriptor, bytes, bytes.count) == bytes.count)
    }

    func lines(_ count: Int) async throws -> [String] {
        try await self.read { self.received.count { $0 == UInt8(ascii: "\n") } >= count }
        return String(decoding: self.received, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func waitForEnd() async throws { try await self.read { self.hasEnded } }

    private func read(until isEnough: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !isEnough() {
            let count = Foundation.read(self.descriptor, &buffer, buffer.count)
            if count > 0 { self.received += buffer[..<count] }
            if count == 0 || (count < 0 && errno == ECONNRESET) { self.hasEnded = true }
            guard ContinuousClock.now < deadline else { throw TestSupportError("the server did not answer") }
            if count < 0 { try await Task.sleep(for: .milliseconds(2)) }
        }
    }
}
