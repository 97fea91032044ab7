import Logging
import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingRuntime

/// Withdraws the credentials of apps when they expire or were revoked, by this process or by a command of `godwit`.
///
/// The credentials are in the gateway's database, so those that expired while no gateway ran are withdrawn at the start.
final class CredentialWatch: Service {
    /// The shortest time between two looks at the credentials.
    private static let pause = Duration.milliseconds(200)
    /// The time after which a failed withdrawal is tried again.
    private static let retry = Duration.seconds(1)
    /// The longest wait until the next look. It is limited because the system clock may be set in the meantime.
    private static let longestWait = Duration.seconds(60)

    private let desk: CredentialDesk
    private let logger: Logger
    private let commits = Atomic(0)
    private let changed = WakeSignal()
    private let clock = DeviceClock()

    init(desk: CredentialDesk, logger: Logger) {
        self.desk = desk
        self.logger = logger
    }

    func run() async {
        let changes = self.desk.store.changes()
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await _ in changes {
                        self.commits.add(1, ordering: .relaxed)
                        self.changed.notify()
                    }
                }
                await self.watch()
                group.cancelAll()
            }
        }
    }

    private func watch() async {
        var isFailing = false
        while !Task.isCancelled {
            let seen = self.commits.load(ordering: .relaxed)
            let start = self.clock.moment
            let wait: Duration
            do throws(TrackingError) {
                let next = try await self.desk.withdraw(now: start.wall)
                wait = next.map { min(max($0.since(start.wall), .zero), Self.longestWait) } ?? Self.longestWait
                if isFailing {
                    self.logger.notice(
                        "Gateway can withdraw ended credentials of apps from the broker again, after failed attempts")
                }
                isFailing = false
            } catch {
                wait = Self.retry
                self.logger.log(
                    level: isFailing ? .debug : .warning,
                    "Ended credentials of apps could not be withdrawn from the broker: the apps may stay connected. The gateway tries again every second",
                    metadata: ["reason": "\(error.message)"])
                isFailing = true
            }
            let isNews = await self.changed.wait(until: start.now.advanced(by: wait)) {
                self.commits.load(ordering: .relaxed) != seen
            }
            guard isNews else { continue }
            // After a failure, a change of the database does not shorten the wait.
            await self.clock.sleep(until: start.now.advanced(by: isFailing ? Self.retry : Self.pause))
        }
    }
}
