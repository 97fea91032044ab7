import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingRules
import TrackingRuntime

/// Ends the live streams of callers whose token or share link was revoked or has expired.
///
/// The watch checks the callers after each commit to the gateway's database, after the opening of a stream, and when
/// the access of a caller ends.
final class RevocationWatch: Service {
    /// The shortest time between two checks: the longest time that a stream outlives its caller's access.
    static let pause = Duration.seconds(1)
    /// The time until a check is repeated after the database could not be read.
    private static let retry = Duration.seconds(2)
    /// The longest wait for the end of an access. The system clock, which ends are compared with, can be set meanwhile.
    private static let longestWait = Duration.seconds(60)

    private let hub: LiveHub
    private let database: GatewayDatabase
    private let access: AccessStore
    private let commits = Atomic(0)
    private let clock = DeviceClock()

    init(hub: LiveHub, database: GatewayDatabase) {
        self.hub = hub
        self.database = database
        self.access = AccessStore(database)
    }

    func run() async {
        let changes = self.database.changes()
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await _ in changes {
                        self.commits.add(1, ordering: .relaxed)
                        self.hub.notifyWaiting()
                    }
                }
                await self.watch()
                group.cancelAll()
            }
        }
    }

    private func watch() async {
        while !Task.isCancelled {
            let seen = (openings: self.hub.openings, commits: self.commits.load(ordering: .relaxed))
            let start = self.clock.moment.now
            let deadline = await self.look()
            await self.hub.waitForStreams(until: deadline) {
                self.hub.openings != seen.openings || self.commits.load(ordering: .relaxed) != seen.commits
            }
            await self.clock.sleep(until: start.advanced(by: Self.pause))
        }
    }

    /// Ends the streams without access. If the database cannot be read, streams continue.
    ///
    /// - Returns: The time of the next look; `nil` if no caller's access has an end.
    private func look() async -> MonotonicTime? {
        let moment = self.clock.moment
        var waits: [Duration] = []
        for caller in self.hub.callers {
            switch try? await self.access.validity(of: caller, now: moment.wall) {
            case .over: self.hub.end(caller)
            case .valid(let end?): waits.append(min(end.since(moment.wall), Self.longestWait))
            case .valid(nil): break
            case nil: waits.append(Self.retry)
            }
        }
        return waits.min().map { moment.now.advanced(by: $0) }
    }
}
