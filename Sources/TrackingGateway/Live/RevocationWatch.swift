import ServiceLifecycle
import TrackingCore
import TrackingRuntime

/// Ends the live streams of callers whose token or share link was revoked or has expired.
struct RevocationWatch: Service {
    /// The interval of the checks: the longest time that a stream outlives its caller's access.
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

    /// Ends the streams without access. If the database cannot be read, streams continue.
    private func look() async {
        let now = self.clock.moment.wall
        for caller in self.hub.callers where (try? await self.access.stillHolds(caller, now: now)) == false {
            self.hub.end(caller)
        }
    }
}
