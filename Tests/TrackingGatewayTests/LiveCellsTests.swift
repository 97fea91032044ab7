import NIOCore
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// The live stream of an area with many trackables.
@Suite(.timeLimit(.minutes(5))) struct LiveCellsTests {
    private let caller = Caller(name: "test", reads: .all)

    private func id(_ number: Int) throws -> TrackableID { try TrackableID("van-\(number)") }

    @Test func aStreamChangesBetweenCountsAndPositions() async throws {
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        func move(_ number: Int, _ seq: UInt64, longitude: Double = -8) throws {
            received.yield(try Sample.location(self.id(number), seq, longitude: longitude, time: 1_790_000_000))
        }
        for number in 1...1_501 { try move(number, 1) }
        let hub = LiveHub(events: events) { _, _ in }
        let running = Task { await hub.run() }
        defer { running.cancel() }
        try await self.wait(for: "every position") { hub.trackableCount == 1_501 }
        var selection = LiveSelection(.everything, reads: .all)
        selection.area = CellArea(nil, level: 3)
        let old = LiveEventID(epoch: 1, number: 1, time: UnixTime(1))
        let stream = try #require(hub.open(selection, for: self.caller, after: old) {})
        #expect(!stream.isResumed && stream.gap == nil)
        #expect(try await self.cells(stream) == "{\"z\":3,\"complete\":true,\"cells\":[[3,2,1501,0,0]]}")
        // The lone trackable of a cell is named, and only changed cells are delivered.
        try move(7, 2, longitude: 8)
        try await self.wait(for: "the position") {
            hub.liveState.known(try self.id(7))?.position?.coordinate.longitude == 8
        }
        hub.deliverCells()
        #expect(
            try await self.cells(stream)
                == "{\"z\":3,\"complete\":false,\"cells\":[[3,2,1500,0,0],[4,2,1,0,0,\"van-7\"]]}")
        for number in 1...302 { received.yield(.locationCleared(try self.id(number))) }
        try await self.wait(for: "every clearing") { hub.liveState.positions().count == 1_199 }
        hub.deliverCells()
        var step = await stream.next()
        while case .cells(let frame) = step, frame != LiveFrame.noCells { step = await stream.next() }
        #expect(step == .cells(LiveFrame.noCells))
        guard case .updates(let updates) = await stream.next() else {
            Issue.record("positions must follow")
            return
        }
        #expect(updates.filter { $0.location != nil }.count == 1_199)
        try move(1_501, 3)
        guard case .updates(let more) = await stream.next() else {
            Issue.record("each update must follow")
            return
        }
        #expect(more.map(\.trackable) == [try self.id(1_501)])
        hub.close(stream)
    }

    private func wait(for what: String, until condition: () throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try !condition() {
            try #require(ContinuousClock.now < deadline, "\(what) did not arrive within 60 s")
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Returns the data of the next event `cells`.
    private func cells(_ stream: LiveStream) async throws -> String {
        guard case .cells(let frame) = await stream.next() else { throw CancellationError() }
        let text = String(buffer: frame)
        return String(text.dropLast(2).split(separator: "data: ").last ?? "")
    }

    @Test func onlyACallerThatReadsEverythingReceivesCounts() async throws {
        let first = try self.id(1)
        try await LiveScene.run { scene in
            try scene.move(first, 1)
            let whole = try await scene.open()
            _ = try await whole.first { $0.data.contains("van-1") && $0.name == "position" }
            let elsewhere = try await scene.open("?bbox=7,51,9,53&cells=9")
            #expect(try await elsewhere.first { $0.name != "hello" }.data == "{\"cells\":null}")
            #expect(try await scene.request("GET", "/api/v1/live?trackables=van-1&cells=4").status == 400)
            #expect(try await scene.request("GET", "/api/v1/live?cells=18").status == 400)
            scene.caller.withLock { $0 = Caller(name: "half", reads: .only([first])) }
            let few = try await scene.open("?cells=4")
            #expect(try await few.first { $0.name != "hello" }.name != "cells")
        }
    }
}
