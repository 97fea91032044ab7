import Foundation
import TestSupport
import Testing
import TrackingCore

/// A device whose clock is changed during a drive: an hour back, and twenty years forward.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ClockDrillTests {
    private static let library = ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/faketime/libfaketimeMT.so.1" }
        .first { FileManager.default.fileExists(atPath: $0) }

    @Test(.enabled(if: library != nil, "libfaketime is missing: apt-get install faketime"))
    func aClockThatIsSetBackAndForwardChangesNoOrder() async throws {
        let library = try #require(Self.library)
        try await DrillScene.play(on: try await MosquittoProcess.start()) { scene in
            let clock = scene.folder.appending(path: "clock").path()
            try "+0\n".write(toFile: clock, atomically: true, encoding: .utf8)
            let drive = scene.folder.appending(path: "pipe").path()
            try #require(mkfifo(drive, 0o600) == 0)
            // Open for reading and writing: a child that waits for a writer would block the process that starts it.
            let descriptor = open(drive, O_RDWR | O_CLOEXEC)
            try #require(descriptor >= 0)
            let pipe = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            // Started through another program: libfaketime moves the environment of the first program, and Swift
            // locates the arguments by the environment.
            let agent = try RunningProgram(
                executable: URL(filePath: "/usr/bin/env"),
                arguments: [Programs.root.appending(path: ".build/debug/godwit-agent").path()]
                    + scene.arguments("box", source: "jsonl:-"),
                environment: [
                    "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
                    "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                ], input: drive)
            // The child has opened its end by now, but only its log proves it.
            try await agent.waitForLog("Starting service")
            let now = Date.now.timeIntervalSince1970
            // The receiver's times follow the clock, as on a device without another clock.
            for (part, offset) in [0.0, -3600, 20 * 365.25 * 86_400].enumerated() {
                try "\(offset >= 0 ? "+" : "")\(Int(offset))\n".write(toFile: clock, atomically: true, encoding: .utf8)
                for index in 0..<50 {
                    let line = DrillScene.feature(part * 50 + index, time: now + offset + Double(index) * 0.1)
                    try pipe.write(contentsOf: Data((line + "\n").utf8))
                    try await Task.sleep(for: .milliseconds(10))  // the pace of the receiver
                }
                // All of these fixes belong to the current clock offset.
                try await scene.wait(agent, logged: (part + 1) * 50)
            }
            try pipe.close()
            let result = try await agent.result(within: .seconds(60))
            #expect(result.code == 0, "\(result.errors.suffix(2000))")
            try await scene.everythingArrived(agent.loggedRecords)
            #expect(scene.events.filter { $0 == "CLOCK_JUMP" }.count >= 2, "\(scene.events)")
            // Every point arrived once and in the order of recording: each further north, at any time.
            let points = scene.recorder.contents.records.compactMap { name, contents in
                (try? LocationCodec.decodeFeature(contents[0][...])).map { (name.seq, $0.coordinate.latitude) }
            }.sorted { $0.0 < $1.0 }
            #expect(points.count == 150)
            #expect(points.map(\.1) == points.map(\.1).sorted())
        }
    }
}
