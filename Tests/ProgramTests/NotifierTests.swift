import Foundation
import Testing
import TrackingCore
@testable import TrackingPublisher
import TrackingRuntime

@testable import godwit_agent

/// The event program: its runs are bounded, and its faults do not harm the agent.
@Suite(.timeLimit(.minutes(5))) struct NotifierTests {
    /// A folder for one test, removed at its end.
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appending(path: "godwit-notify-\(UUID().uuidString)")
        init() throws { try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: self.url) }

        /// Returns the words of a command that runs a shell script. The shell reads the script: the kernel would not
        /// start a new file itself while another test's child process still has it open for writing.
        func script(_ text: String) throws -> [String] {
            let file = self.url.appending(path: "script").path()
            try "\(text)\n".write(toFile: file, atomically: true, encoding: .utf8)
            return ["sh", file]
        }

        func read(_ name: String) -> String {
            (try? String(contentsOf: self.url.appending(path: name), encoding: .utf8)) ?? ""
        }
    }

    private func run(
        _ words: [String], input: String = "x\n", environment: [String: String] = ["PATH": "/usr/bin:/bin"],
        limit: Duration = .seconds(60)
    ) async -> ProgramOutcome {
        await EventProgram(words: words, limit: limit).run(Array(input.utf8), environment: environment)
    }

    @Test func aCommandIsItsWordsAndNothingIsQuoted() {
        #expect(NotifyCommand(argument: " /a/b\t-c  'd e' ")?.words == ["/a/b", "-c", "'d", "e'"])
        #expect(NotifyCommand(argument: "  \n") == nil)
    }

    @Test func theOutcomeOfARunIsReported() async throws {
        #expect(await self.run(["true"]) == .succeeded)
        #expect(await self.run(["sh", "-c", "exit 7"]) == .exited(7))
        #expect(await self.run(["sh", "-c", "kill -TERM $$"]) == .signalled(SIGTERM))
        #expect(await self.run(["/nonexistent"]) == .notStarted("No such file or directory"))
        #expect(
            await self.run(["cat"], input: String(repeating: "x", count: 60_001)).complaint?.contains("60001") == true)
        #expect(await self.run(["true"], input: String(repeating: "x", count: 60_000)) == .succeeded)
    }

    @Test func itReadsTheEventAndHasNothingElseOpen() async throws {
        let folder = try Folder()
        let script = try folder.script(
            "cat > \(folder.url.path())/in; ls /proc/self/fd | wc -l > \(folder.url.path())/open; env > \(folder.url.path())/env"
        )
        // Something that the agent has open.
        let handle = try FileHandle(forWritingTo: URL(filePath: "/dev/null"))
        #expect(
            await self.run(script, input: "one\n", environment: ["PATH": "/usr/bin:/bin", "A": "b c"]) == .succeeded)
        try handle.close()
        #expect(folder.read("in") == "one\n")
        // The three standard streams, and the folder that `ls` reads.
        #expect(folder.read("open").trimmingCharacters(in: .whitespacesAndNewlines) == "4")
        #expect(folder.read("env").split(separator: "\n").contains("A=b c"))
    }

    @Test(arguments: [false, true]) func aProgramThatTakesTooLongIsKilledWithItsChildren(isOver: Bool) async throws {
        let folder = try Folder()
        let script = try folder.script(
            "sleep 600 & echo $! > \(folder.url.path())/c; mv \(folder.url.path())/c \(folder.url.path())/child; wait")
        let program = EventProgram(words: script, limit: isOver ? .seconds(120) : .seconds(10))
        let child = folder.url.appending(path: "child").path()
        let signal = WakeSignal()
        let changes = try #require(FileChanges(child) { signal.notify() })
        let outcome = await program.run([], environment: ["PATH": "/usr/bin:/bin"], signal: signal) {
            isOver && FileManager.default.fileExists(atPath: child)
        }
        changes.cancel()
        #expect(outcome == .killed)
        let id = try #require(Int32(folder.read("child").trimmingCharacters(in: .whitespacesAndNewlines)))
        let deadline = ContinuousClock.now + .seconds(60)
        // Gone, or waiting for whoever takes over orphans.
        while kill(id, 0) == 0, !self.isZombie(id), ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(kill(id, 0) != 0 || self.isZombie(id))
    }

    @Test func aCancelledTaskKillsTheProgram() async throws {
        let folder = try Folder()
        let script = try folder.script("touch \(folder.url.path())/begun; sleep 600")
        let signal = WakeSignal()
        let begun = folder.url.appending(path: "begun").path()
        let changes = try #require(FileChanges(begun) { signal.notify() })
        let outcome = await withTaskGroup(of: ProgramOutcome?.self) { group in
            group.addTask {
                await EventProgram(words: script, limit: .seconds(120)).run(
                    [], environment: ["PATH": "/usr/bin:/bin"])
            }
            group.addTask {
                _ = await signal.wait { FileManager.default.fileExists(atPath: begun) }
                return nil
            }
            while let outcome = await group.next() {
                if let outcome { return outcome }
                group.cancelAll()
            }
            return .succeeded
        }
        changes.cancel()
        #expect(outcome == .killed)
    }

    private func isZombie(_ id: Int32) -> Bool {
        ((try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? "").contains(") Z ")
    }

    private func event(_ seq: UInt64) throws -> TrackableEvent {
        let event = TrackingEvent(
            id: "id", stream: try #require(StreamID("s")), seq: seq, time: UnixTime(1), kind: .sourceLost)
        return TrackableEvent(trackable: try TrackableID("van 7"), event: event)
    }

    @Test func eventsAreDeliveredOneAfterTheOtherAndInOrder() async throws {
        let folder = try Folder()
        // Two at a time would see each other's mark.
        let script = try folder.script(
            """
            mkdir \(folder.url.path())/busy || echo twice >> \(folder.url.path())/told
            echo "$GODWIT_TRACKABLE $GODWIT_PASSWORD $(cat)" >> \(folder.url.path())/told
            rmdir \(folder.url.path())/busy
            """)
        let notifier = Notifier(
            try #require(NotifyCommand(argument: script.joined(separator: " "))),
            environment: ["PATH": "/usr/bin:/bin", "GODWIT_PASSWORD": "secret", "GODWIT_TRACKABLE": "all"])
        let (events, feed) = AsyncStream.makeStream(of: TrackableEvent.self)
        for seq in 1...5 { feed.yield(try self.event(UInt64(seq))) }
        feed.finish()
        await notifier.run(events) { 0 }
        let lines = folder.read("told").split(separator: "\n").map(String.init)
        #expect(lines.count == 5)
        for (number, line) in lines.enumerated() {
            #expect(line.hasPrefix("van 7  {\"id\":\"id\"") && line.contains("\"seq\":\(number + 1)"))
        }
    }
}
