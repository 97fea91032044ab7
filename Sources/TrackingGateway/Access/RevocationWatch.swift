import ServiceLifecycle
import TrackingCore
import TrackingRuntime

/// Ends the live streams of those whose token or share link does not hold any more: revoked, or expired.
struct RevocationWatch: Service {
    /// How long a stream outlives what let it in, at most.
    static let interval = Duration.seconds(2)

    private let hub: LiveHub
    private let access: AccessStore
    private let clock = DeviceClock()

    init(hub: LiveHub, access: AccessStore) {
        self.hub = hub
        self.access = access
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.interval)) != nil { await self.look() }
        }
    }

    /// Where the database cannot be read, streams go on.
    private func look() async {
        let now = self.clock.moment.wall
        for caller in self.hub.callers where (try? await self.access.stillHolds(caller, now: now)) == false {
            self.hub.end(caller)
        }
    }
}
