import TrackingCore
import TrackingPublisher
import TrackingStore

/// The checks that decide whether the gateway reports itself as ready on the path `/readyz`.
struct GatewayChecks: Sendable {
    let configuration: GatewayConfiguration
    let access: AccessStore
    let live: LiveState?
    let history: (any HistoryStore)?

    /// The time for which ingested records may wait without any acknowledgement by a recorder. After this time the
    /// gateway is not ready.
    static let recorderPatience = Duration.seconds(60)

    var all: [HealthRoutes.Check] {
        var checks = [
            HealthRoutes.Check("database") {
                (try? await self.access.grants(.share)) == nil ? "the gateway's own database cannot be read" : nil
            },
            HealthRoutes.Check("disk") { self.fullDisk },
        ]
        if let live = self.live { checks += Self.checks(of: live) }
        if let intake = self.configuration.intake { checks += Self.checks(of: intake) }
        if let history = self.history { checks.append(self.check(of: history)) }
        return checks
    }

    /// The reason for which the gateway is not ready when the disk of its database or of the history's file is full;
    /// `nil` when neither is full.
    private var fullDisk: String? {
        let files =
            [("state folder", self.configuration.fileInFolder)]
            + (self.configuration.historyFile.map { [("history", $0)] } ?? [])
        let full = files.filter { DiskRoom.isFull(at: $0.1) }.map(\.0)
        return full.isEmpty ? nil : "the disk of the \(full.joined(separator: " and the ")) is full"
    }

    private static func checks(of live: LiveState) -> [HealthRoutes.Check] {
        [
            HealthRoutes.Check("broker") {
                live.isConnected()
                    ? nil : "the gateway's connection that receives live positions is not connected to the broker"
            },
            HealthRoutes.Check("queues") { self.reason(timeSinceDrop: live.timeSinceDrop()) },
        ]
    }

    /// Returns the reason for which the gateway is not ready if the broker dropped a message within the last ten
    /// minutes (``LiveState/dropMemory``); otherwise `nil`.
    ///
    /// - Parameter time: The time since the broker last dropped a message; `nil` if it never did.
    static func reason(timeSinceDrop time: Duration?) -> String? {
        guard let time, time < LiveState.dropMemory else { return nil }
        return
            "the broker dropped messages \(max(0, time.components.seconds)) s ago: its queues are too short, or a client "
            + "whose session the broker keeps is not connected"
    }

    private static func checks(of intake: Intake) -> [HealthRoutes.Check] {
        [
            HealthRoutes.Check("intake") {
                intake.isConnected
                    ? nil : "the gateway's connection that publishes ingested records is not connected to the broker"
            },
            HealthRoutes.Check("recorder") {
                await intake.unrecorded().flatMap {
                    self.reason(unrecorded: $0.count, wait: $0.wait, recorders: $0.recorders)
                }
            },
        ]
    }

    /// Returns the reason for which the gateway is not ready if ingested records have waited for ``recorderPatience``
    /// or longer without any acknowledgement by a recorder; otherwise `nil`.
    ///
    /// - Parameters:
    ///   - count: The number of waiting records.
    ///   - wait: The time since a recorder last acknowledged records, or since the oldest record began to wait.
    ///   - recorders: The recorders that must acknowledge the records; empty if any recorder may do so.
    static func reason(unrecorded count: Int, wait: Duration, recorders: [ClientID]) -> String? {
        guard wait >= self.recorderPatience else { return nil }
        guard recorders.isEmpty else {
            let names = recorders.map { "'\($0)'" }.joined(separator: ", ")
            return "\(count) ingested records wait for the recorder \(names) to acknowledge them"
        }
        return "no recorder stores the ingested records: \(count) of them wait in the gateway's log. "
            + "Start godwit record, or serve with --store"
    }

    private func check(of history: any HistoryStore) -> HealthRoutes.Check {
        let isConfigured = self.configuration.isHistoryConfigured
        return HealthRoutes.Check("history") {
            guard history.isPresent else { return isConfigured ? "the history does not exist" : nil }
            let isReadable = (try? await history.trackables(after: nil, limit: 1)) != nil
            return isReadable ? nil : "the history cannot be read"
        }
    }
}
