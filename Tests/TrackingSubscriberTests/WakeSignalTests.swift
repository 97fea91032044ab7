import Synchronization
import Testing
import TrackingCore
import TrackingRuntime

/// Waiting for a condition that other tasks change.
@Suite(.timeLimit(.minutes(1))) final class WakeSignalTests: Sendable {
    private let signal = WakeSignal()
    private let value = Mutex(0)

    private func change(to value: Int) {
        self.value.withLock { $0 = value }
        self.signal.notify()
    }

    @Test func aConditionThatHoldsNeedsNoWait() async {
        #expect(await self.signal.wait { true })
        #expect(await self.signal.wait(until: DeviceClock.now) { true }, "the condition counts before the deadline")
    }

    @Test func everyWaitingTaskWakesWhenItsConditionHolds() async {
        await withTaskGroup(of: Bool.self) { group in
            for number in 1...20 {
                group.addTask { await self.signal.wait { self.value.withLock { $0 } >= number } }
            }
            for number in 1...20 {
                self.change(to: number)
                await Task.yield()
            }
            for await isMet in group { #expect(isMet) }
        }
    }

    @Test func aChangeDuringTheEvaluationIsNotMissed() async {
        // The condition itself changes the value, after it has been read.
        let isMet = await self.signal.wait {
            let now = self.value.withLock { $0 }
            if now < 3 { self.change(to: now + 1) }
            return now == 3
        }
        #expect(isMet)
    }

    @Test func theDeadlineEndsTheWait() async {
        let deadline = DeviceClock.now.advanced(by: .milliseconds(30))
        #expect(await !self.signal.wait(until: deadline) { false })
        #expect(DeviceClock.now >= deadline)
    }

    @Test func aNotificationWithoutTheConditionDoesNotEndTheWait() async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.signal.wait { self.value.withLock { $0 } == 2 } }
            self.change(to: 1)
            await Task.yield()
            self.signal.notify()
            self.change(to: 2)
            #expect(await group.next() == true)
        }
    }

    @Test func cancellationEndsTheWait() async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.signal.wait { false } }
            await Task.yield()
            group.cancelAll()
            #expect(await group.next() == false)
        }
    }
}
