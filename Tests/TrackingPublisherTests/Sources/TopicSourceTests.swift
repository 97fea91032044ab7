import Testing
import TrackingCore
import TrackingRuntime
import TrackingTesting

@testable import TrackingPublisher

/// The positions on a topic of a broker as a source.
@Suite(.timeLimit(.minutes(5))) struct TopicSourceTests {
    private func fix(_ second: Double) throws -> Location {
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: 52, longitude: 8)), time: UnixTime(1_700_000_000 + second))
        (fix.seq, fix.stream, fix.tripID, fix.mode) = (UInt64(second), StreamID("theirs"), "t1", .active)
        (fix.speed, fix.source) = (3, .gps)
        return fix
    }

    private func message(_ update: LocationUpdate, isRetained: Bool = false) throws -> IncomingMessage {
        IncomingMessage(
            topic: "tracking/bike", payload: try LocationCodec.encode(update)[...], isRetained: isRetained)
    }

    private func seconds(_ fixes: [Location]) -> [Double] { fixes.map { $0.time.seconds - 1_700_000_000 } }

    @Test func newPositionsAreFixesWithoutTheirNames() throws {
        var fixes = TopicFixes()
        let update = LocationUpdate(location: try self.fix(3), skipped: [try self.fix(1), try self.fix(2)])
        let found = try fixes.received(self.message(update))
        #expect(self.seconds(found) == [1, 2, 3])
        #expect(found.allSatisfy { $0.seq == nil && $0.stream == nil && $0.tripID == nil && $0.mode == nil })
        #expect(found.allSatisfy { $0.speed == 3 && $0.source == .gps })
    }

    /// A publisher that reads its own positions gets them with another number and the same time.
    @Test func aPositionThatIsNotNewerIsNoFix() throws {
        var fixes = TopicFixes()
        #expect(try self.seconds(fixes.received(self.message(LocationUpdate(location: self.fix(3))))) == [3])
        var again = try self.fix(3)
        (again.seq, again.stream) = (900, StreamID("ours"))
        #expect(try fixes.received(self.message(LocationUpdate(location: again))) == [])
        let mixed = LocationUpdate(location: try self.fix(4), skipped: [try self.fix(2)])
        #expect(try self.seconds(fixes.received(self.message(mixed))) == [4])
    }

    /// A device whose clock was not set once must not silence itself for years.
    @Test func aPositionFromTheFutureDoesNotRejectLaterOnes() throws {
        var fixes = TopicFixes()
        let now = try self.fix(10).time
        _ = try fixes.received(self.message(LocationUpdate(location: self.fix(1_000_000))), clock: now)
        #expect(
            try self.seconds(fixes.received(self.message(LocationUpdate(location: self.fix(9))), clock: now)) == [9])
        #expect(try fixes.received(self.message(LocationUpdate(location: self.fix(9))), clock: now) == [])
    }

    @Test func retainedAndPredictedPositionsAndClearingsAreNoFixes() throws {
        var fixes = TopicFixes()
        #expect(try fixes.received(self.message(LocationUpdate(location: self.fix(3)), isRetained: true)) == [])
        var predicted = LocationUpdate(location: try self.fix(5), skipped: [try self.fix(4)], kind: .predicted)
        predicted.location.seq = nil
        #expect(try self.seconds(fixes.received(self.message(predicted))) == [4])
        let cleared = IncomingMessage(topic: "tracking/bike", payload: [], isRetained: false)
        #expect(try fixes.received(cleared) == [])
        let other = IncomingMessage(topic: "tracking/bike", payload: Array("{}".utf8)[...], isRetained: false)
        #expect(throws: TrackingError.self) { try fixes.received(other) }
    }

    // MARK: - Connection

    private func events(
        of source: some LocationSource, _ body: (AsyncStream<SourceEvent>) async throws -> Void
    ) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: SourceEvent.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await source.run { continuation.yield($0) } }
            try await body(stream)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test func aPublisherFollowsAnother() async throws {
        let broker = InMemoryBroker()
        let (one, reader) = (try ClientID("one"), try ClientID("reader"))
        let publisher = AssetPublisher(
            configuration: PublisherConfiguration(client: one, session: try #require(SessionID("s"))),
            transport: broker.client(one))
        let source = TopicSource(name: "test", topic: "tracking/bike") { () throws(TrackingError) in
            broker.client(reader)
        }
        #expect(source.facts.isLive && !source.facts.isFinite)
        publisher.add(Trackable(try TrackableID("bike")))
        let fixes = try (1...600).map { try self.fix(Double($0) * 60) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            // The source may subscribe after the first positions, and ignores the retained one.
            let sender = Task { for fix in fixes { await publisher.publishAndWait(fix) } }
            try await self.events(of: source) { events in
                for await case .fix(let fix) in events {
                    #expect(fix.seq == nil && fix.speed == 3)
                    break
                }
            }
            sender.cancel()
            publisher.finish(within: .zero)
            try await group.waitForAll()
        }
    }

    @Test func aLostConnectionBreaksTheSource() async throws {
        let broker = InMemoryBroker()
        let reader = try ClientID("reader")
        let source = TopicSource(name: "test", topic: "tracking/bike") { () throws(TrackingError) in
            broker.client(reader)
        }
        let error = await #expect(throws: TrackingError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await source.run { _ in } }
                group.addTask {
                    while !Task.isCancelled {
                        broker.disconnect(reader)
                        await Task.yield()
                    }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
        #expect(error?.code == .inputUnreadable)
        #expect(error?.message.hasPrefix("no positions from test: ") == true)
    }

    @Test func theSpecificationAloneMakesNoSource() throws {
        let specification = try SourceSpecification.parse("mqtt://h/t")
        #expect(!specification.isReceiver && !specification.readsStandardInput)
        #expect(throws: TrackingError.self) { try specification.makeSource() }
    }
}
