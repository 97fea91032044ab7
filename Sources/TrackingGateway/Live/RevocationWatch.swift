import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingRules
import TrackingRuntime

/// Ends the live streams of callers whose token or share link was revoked or has expired, whose session has ended, or
/// who may read other trackables than before because a group has changed.
///
/// The service checks the permissions of all callers with an open stream. It does so after each commit to the gateway's
/// database, after a stream was opened, and when a permission expires.
final class RevocationWatch: Service {
    /// The shortest time between two checks of the callers' permissions. A stream may continue for this time after its
    /// caller lost the permission.
    static let pause = Duration.seconds(1)
    /// The time after which the check of the callers' permissions is repeated if the gateway's database could not be
    /// read: 2 s.
    private static let retry = Duration.seconds(2)
    /// The longest wait until the next check when a permission has an expiry time. The wait is limited because the
    /// system clock may be set in the meantime.
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

    /// Checks the permissions of all callers with an open stream, and ends the streams of each caller whose permission
    /// is over or has changed. If the database cannot be read, the streams continue.
    ///
    /// - Returns: The time of the next check; `nil` if no caller's permission has an expiry time and the database could
    ///   be read.
    private func look() async -> MonotonicTime? {
        let moment = self.clock.moment
        var waits: [Duration] = []
        for caller in self.hub.callers {
            switch try? await self.access.validity(of: caller, now: moment.wall) {
            case .over: self.hub.end(caller)
            case .changed: self.hub.end(caller, as: .changed)
            case .valid(let end?): waits.append(min(end.since(moment.wall), Self.longestWait))
            case .valid(nil): break
            case nil: waits.append(Self.retry)
            }
        }
        return waits.min().map { moment.now.advanced(by: $0) }
    }
}
