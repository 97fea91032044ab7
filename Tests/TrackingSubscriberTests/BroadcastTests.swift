import Testing
import TrackingCore
import TrackingRuntime

/// The buffer of a slow listener, and the rules for its overflow.
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
        // The newest element is kept, however large it is.
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

    @Test func aSlowListenerLosesItsOldestElementsAndTheyAreCounted() async {
        let broadcast = Broadcast<Int>(buffer: 1_000, bytes: 25, size: { _ in 10 })
        let (slow, fast) = (broadcast.listen(), broadcast.listen())
        var reader = fast.makeAsyncIterator()
        for number in 1...5 {
            broadcast.deliver(number)
            #expect(await reader.next() == number)
        }
        #expect(broadcast.lost == 3)
        broadcast.finish()
        var kept: [Int] = []
        for await number in slow { kept.append(number) }
        #expect(kept == [4, 5])
        #expect(await reader.next() == nil)
    }

    @Test(.timeLimit(.minutes(5))) func aLosslessListenerIsAwaited() async {
        let broadcast = Broadcast<Int>(buffer: 10)
        let all = broadcast.listen(losingNothing: true)
        for number in 1...25 { broadcast.deliver(number) }
        let finishing = Task {
            await broadcast.caughtUp()
            broadcast.finish()
        }
        var received: [Int] = []
        for await number in all { received.append(number) }
        #expect(received == Array(1...25) && broadcast.lost == 0)
        await finishing.value
    }

    @Test(.timeLimit(.minutes(5))) func anEndedLosslessListenerIsNotAwaited() async {
        let broadcast = Broadcast<Int>(buffer: 10)
        _ = broadcast.listen(losingNothing: true)
        let stream = broadcast.listen(losingNothing: true)
        let (running, run) = AsyncStream.makeStream(of: Void.self)
        let reader = Task {
            for await _ in stream {
                run.finish()
                try? await Task.sleep(for: .seconds(600))
            }
        }
        for number in 1...25 { broadcast.deliver(number) }
        for await _ in running {}
        reader.cancel()
        await broadcast.caughtUp()
        await reader.value
    }

    @Test func aReleasedStreamReceivesNothing() {
        let broadcast = Broadcast<Int>(buffer: 1)
        _ = broadcast.listen()
        for number in 1...5 { broadcast.deliver(number) }
        #expect(broadcast.lost == 0)
    }

    @Test func aCancelledListenerEnds() async {
        let broadcast = Broadcast<Int>(buffer: 10)
        let stream = broadcast.listen()
        let task = Task {
            var received = 0
            for await _ in stream { received += 1 }
            return received
        }
        task.cancel()
        #expect(await task.value == 0)
    }

    // MARK: - Warnings

    @Test func repeatedWarningsAreLoggedTenTimesAndThenRarely() {
        var limit = WarningLimit<String>()
        var verdicts: [WarningLimit<String>.Verdict] = []
        for _ in 0..<100 { verdicts.append(limit.happened("a", now: MonotonicTime(.seconds(1)))) }
        #expect(verdicts.prefix(10).allSatisfy { $0 == .say(suppressed: 0) })
        #expect(verdicts.dropFirst(10).allSatisfy { $0 == .keepQuiet })
        // Another kind of warning has its own limit.
        #expect(limit.happened("b", now: MonotonicTime(.seconds(1))) == .say(suppressed: 0))
        #expect(limit.happened("a", now: MonotonicTime(.seconds(10.9))) == .keepQuiet)
        #expect(limit.happened("a", now: MonotonicTime(.seconds(11))) == .say(suppressed: 91))
        #expect(limit.happened("a", now: MonotonicTime(.seconds(11))) == .keepQuiet)
        #expect(limit.happened("a", now: MonotonicTime(.seconds(30))) == .say(suppressed: 1))
        for _ in 0..<3 { _ = limit.happened("a", now: MonotonicTime(.seconds(31))) }
        #expect(limit.takeSuppressed() == 3)
        #expect(limit.takeSuppressed() == 0)
    }
}
