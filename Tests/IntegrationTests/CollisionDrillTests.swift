import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingTesting

/// Two agents track one trackable: the later one is the owner, the other stops, and no record of either is lost.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CollisionDrillTests {
    /// Checks the end of the superseded agent.
    private func check(_ scene: DrillScene, loser: RunningProgram, other: String) async throws {
        let result = try await loser.result(within: .seconds(60))
        #expect(result.code == 77, "\(result.errors.suffix(2000))")
        #expect(result.errors.contains("the publisher '\(other)' took it over"))
        // The superseded agent clears its presence and publishes nothing more: the retained presence is the other
        // agent's.
        let written = loser.loggedRecords
        try await scene.everythingArrived(written)
        try await scene.recorder.wait(for: "the collision") { _ in scene.events.contains("COLLISION") }
        #expect(scene.events.filter { $0 == "COLLISION" }.count == 1)
    }

    /// Checks that the owner goes on, and ends in order.
    private func check(_ scene: DrillScene, owner: RunningProgram, named name: String) async throws {
        let before = owner.loggedRecords.count
        try await scene.wait(owner, logged: before + 10)
        owner.terminate()
        let result = try await owner.result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors.suffix(2000))")
        try await scene.sendTheRest(name)
        try await scene.everythingArrived(owner.loggedRecords)
    }

    @Test func theOneThatComesLaterOwnsIt() async throws {
        try await DrillScene.play(on: try await MosquittoProcess.start()) { scene in
            let first = try scene.agent("first", source: "jsonl:\(try scene.drive(20_000))", ["--speed", "20"])
            try await scene.wait(first, logged: 40)
            let second = try scene.agent("second", source: "jsonl:\(try scene.drive(20_000))", ["--speed", "20"])
            try await self.check(scene, loser: first, other: "second")
            try await self.check(scene, owner: second, named: "second")
        }
    }

    @Test(arguments: ["keep", "clear"]) func theOneThatWasAwayMeanwhileFindsTheOther(_ rule: String) async throws {
        let broker = try await MosquittoProcess.start()
        let proxy = try FaultProxy(to: broker.port)
        try await DrillScene.play(on: broker) { scene in
            let first = try scene.agent(
                "first", source: "jsonl:\(try scene.drive(20_000))", ["--speed", "20", "--on-collision", rule],
                port: proxy.port)
            try await scene.wait(first, logged: 40)
            // The first agent loses its connection and records.
            proxy.mode = .refuse
            proxy.cut()
            let before = first.loggedRecords.count
            try await scene.wait(first, logged: before + 200)
            let second = try scene.agent("second", source: "jsonl:\(try scene.drive(20_000))", ["--speed", "20"])
            try await scene.wait(second, logged: 20)
            proxy.mode = .pass
            if rule == "keep" {
                try await self.check(scene, loser: first, other: "second")
            } else {
                let result = try await first.result(within: .seconds(60))
                #expect(result.code == 77, "\(result.errors.suffix(2000))")
                let missing = first.loggedRecords.filter { scene.recorder.contents.records[$0] == nil }
                #expect(!missing.isEmpty, "nothing was cleared")
                // The publisher declared the missing records gone.
                try await scene.recorder.wait(for: "the end of \(missing.sorted())") { contents in
                    missing.allSatisfy { contents.handled[$0.stream]?.contains($0.seq) == true }
                }
                try await scene.recorder.wait(for: "the collision") { _ in scene.events.contains("COLLISION") }
                #expect(scene.events.filter { $0 == "COLLISION" }.count == 1)
            }
            try await self.check(scene, owner: second, named: "second")
        }
    }

    @Test func theOneThatWasNeverThereBeforeComesLater() async throws {
        let broker = try await MosquittoProcess.start()
        let proxy = try FaultProxy(to: broker.port)
        proxy.mode = .refuse
        try await DrillScene.play(on: broker) { scene in
            let away = try scene.agent(
                "away", source: "jsonl:\(try scene.drive(20_000))", ["--speed", "20"], port: proxy.port)
            try await scene.wait(away, logged: 100)
            let there = try scene.agent("there", source: "jsonl:\(try scene.drive(20_000))", ["--speed", "20"])
            try await scene.wait(there, logged: 40)
            proxy.mode = .pass
            try await self.check(scene, loser: there, other: "away")
            try await self.check(scene, owner: away, named: "away")
        }
    }
}
