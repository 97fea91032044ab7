import Testing
import TrackingCore
import TrackingRuntime

/// What a listener keeps that does not keep up, as a value, and what becomes of it.
@Suite struct BroadcastTests {
    @Test func aBufferIsBoundedByCount() {
        var buffer = BoundedBuffer<Int>(count: 3, bytes: 1_000)
        #expect((1...5).map { buffer.append($0, bytes: 1) } == [0, 0, 0, 1, 1])
        #expect((0..<4).map { _ in buffer.popFirst() } == [3, 4, 5, nil])
        #expect(buffer.bytes == 0)
    }

    @Test func aBufferIsBoundedByBytesAndTheOldestMakeWay() {
        var buffer = BoundedBuffer<Int>(count: 1_000, bytes: 100)
        #expect((1...4).map { buffer.append($0, bytes: 30) } == [0, 0, 0, 1])
        #expect(buffer.count == 3 && buffer.bytes == 90)
        // The newest is kept, however large.
        #expect(buffer.append(5, bytes: 500) == 3)
        #expect(buffer.count == 1)
        #expect(buffer.append(6, bytes: 1) == 1)
        #expect(buffer.popFirst() == 6)
    }

    @Test func aBufferKeepsOrderWhileItIsFilledAndEmptied() {
        var buffer = BoundedBuffer<Int>(count: 100_000, bytes: .max)
        var (next, expected) = (0, 0)
        for round in 0..<2_000 {
            for _ in 0..<(round % 7) {
                #expect(buffer.append(next, bytes: 1) == 0)
                next += 1
            }
            for _ in 0..<(round % 5) where buffer.count > 0 {
                #expect(buffer.popFirst() == expected)
                expected += 1
            }
            #expect(buffer.count == next - expected && buffer.bytes == buffer.count)
        }
    }

    @Test func aSlowListenerLosesItsOwnOldestAndItIsCounted() async {
        let told = Broadcast<Int>(buffer: 1_000, bytes: 25, size: { _ in 10 })
        let (slow, fast) = (told.listen(), told.listen())
        var reader = fast.makeAsyncIterator()
        for number in 1...5 {
            told.tell(number)
            #expect(await reader.next() == number)
        }
        #expect(told.lost == 3)
        told.finish()
        var kept: [Int] = []
        for await number in slow { kept.append(number) }
        #expect(kept == [4, 5])
        #expect(await reader.next() == nil)
    }

    @Test(.timeLimit(.minutes(5))) func whoIsToLoseNothingIsWaitedFor() async {
        let told = Broadcast<Int>(buffer: 10)
        let all = told.listen(losingNothing: true)
        for number in 1...25 { told.tell(number) }
        let telling = Task {
            await told.caughtUp()
            told.finish()
        }
        var heard: [Int] = []
        for await number in all { heard.append(number) }
        #expect(heard == Array(1...25) && told.lost == 0)
        await telling.value
    }

    @Test(.timeLimit(.minutes(5))) func whoeverIsGoneIsNotWaitedFor() async {
        let told = Broadcast<Int>(buffer: 10)
        _ = told.listen(losingNothing: true)
        let stream = told.listen(losingNothing: true)
        let (running, run) = AsyncStream.makeStream(of: Void.self)
        let reader = Task {
            for await _ in stream {
                run.finish()
                try? await Task.sleep(for: .seconds(600))
            }
        }
        for number in 1...25 { told.tell(number) }
        for await _ in running {}
        reader.cancel()
        await told.caughtUp()
        await reader.value
    }

    @Test func aStreamThatIsLetGoIsToldNothing() {
        let told = Broadcast<Int>(buffer: 1)
        _ = told.listen()
        for number in 1...5 { told.tell(number) }
        #expect(told.lost == 0)
    }

    @Test func aCancelledListenerEnds() async {
        let told = Broadcast<Int>(buffer: 10)
        let stream = told.listen()
        let task = Task {
            var heard = 0
            for await _ in stream { heard += 1 }
            return heard
        }
        task.cancel()
        #expect(await task.value == 0)
    }

    // MARK: - Warnings

    @Test func likeWarningsAreSaidTenTimesAndThenNowAndThen() {
        var limit = WarningLimit<String>()
        var said: [WarningLimit<String>.Verdict] = []
        for _ in 0..<100 { said.append(limit.happened("a", now: MonotonicTime(.seconds(1)))) }
        #expect(said.prefix(10).allSatisfy { $0 == .say(unsaid: 0) })
        #expect(said.dropFirst(10).allSatisfy { $0 == .keepQuiet })
        // Another kind has its own.
        #expect(limit.happened("b", now: MonotonicTime(.seconds(1))) == .say(unsaid: 0))
        #expect(limit.happened("a", now: MonotonicTime(.seconds(10.9))) == .keepQuiet)
        #expect(limit.happened("a", now: MonotonicTime(.seconds(11))) == .say(unsaid: 91))
        #expect(limit.happened("a", now: MonotonicTime(.seconds(11))) == .keepQuiet)
        #expect(limit.happened("a", now: MonotonicTime(.seconds(30))) == .say(unsaid: 1))
        for _ in 0..<3 { _ = limit.happened("a", now: MonotonicTime(.seconds(31))) }
        #expect(limit.takeUnsaid() == 3)
        #expect(limit.takeUnsaid() == 0)
    }
}
