import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingPublisher

/// The settings that protect the person who owns the device against commands from the broker: limits for unsent
/// records, the rule for collisions, privacy zones, and limits for the resolutions that subscribers request.
struct OwnerProtection: Hashable, Sendable {
    /// The largest number of unsent records in the device's log; `nil` for no limit.
    var keepPoints: Int?
    /// The largest size of the unsent records in the device's log, in bytes; `nil` for no limit.
    var keepBytes: Int?
    /// The largest age of an unsent record in the device's log, in days; `nil` for no limit.
    var keepDays: Double?
    /// The rule for unsent records of a trackable that another publisher takes over: send them or discard them.
    var onCollision = CollisionRule.keep
    /// The privacy zones, circles in which the agent hides positions.
    var zones: [PrivacyZone] = []
    /// The floor of each trackable, the finest resolution that subscribers can get by requests. A trackable without a
    /// floor has no entry.
    var floors: [TrackableID: Resolution] = [:]
    /// The ceiling of each trackable, the coarsest resolution to which subscribers' requests can lead. A trackable
    /// without a ceiling has no entry.
    var ceilings: [TrackableID: Resolution] = [:]
}

extension OwnerProtection {
    /// Reads the protective settings that are in force from an agent's plan.
    ///
    /// - Throws: `failed` if the plan has no valid configuration.
    init(_ plan: AgentPlan) throws(CommandFailure) {
        let recording = plan.run.recording
        self.init(
            keepPoints: recording.keepPoints, keepBytes: recording.keepBytes, keepDays: recording.keepDays,
            onCollision: recording.onCollision, zones: plan.run.capture.zone)
        let configuration: PublisherConfiguration
        do { configuration = try plan.configuration(for: plan.run.broker.identity()) } catch {
            throw CommandFailure(.failed, "\(error)")
        }
        for trackable in plan.trackables {
            self.floors[trackable.id] = trackable.floor ?? configuration.floor
            self.ceilings[trackable.id] = trackable.ceiling ?? configuration.ceiling
        }
    }
}

/// Decides whether a command from the broker may change the settings of ``OwnerProtection``. Limits for unsent records
/// may only be raised or removed. Privacy zones and limits for resolutions may only be added or tightened. The rule for
/// collisions may only become `keep`.
///
/// All these settings are compared before and after the command, so that a named profile of settings cannot change them
/// either.
enum RemoteConfigurationRule {
    /// Checks a change of the protective settings that a command from the broker would make.
    ///
    /// - Throws: `notAllowed` if the change is not permitted. The message contains the setting, the old and the new
    ///   value (never a place), the reason and the remedy.
    static func check(from old: OwnerProtection, to new: OwnerProtection) throws(CommandFailure) {
        try self.checkLimit("keep-points", old.keepPoints, new.keepPoints)
        try self.checkLimit("keep-bytes", old.keepBytes, new.keepBytes)
        try self.checkLimit("keep-days", old.keepDays, new.keepDays)
        if new.onCollision != old.onCollision, new.onCollision != .keep {
            throw self.refusal(
                "on-collision", "\(old.onCollision)", "\(new.onCollision)", "it would discard records that are not sent"
            )
        }
        try self.checkZones(old.zones, new.zones)
        try self.checkLimits("floor", old.floors, new.floors, "finer") { $0.coarser(of: $1) }
        try self.checkLimits("ceiling", old.ceilings, new.ceilings, "coarser") { $0.finer(of: $1) }
    }

    /// Checks that no trackable's floor or ceiling is removed or loosened.
    ///
    /// - Parameters:
    ///   - setting: The name of the setting for the error.
    ///   - excess: The word for the error that describes the positions beyond the limit: "finer" or "coarser".
    ///   - tightest: Returns the tighter one of two limits.
    /// - Throws: `notAllowed` for the first limit that would be removed or loosened.
    private static func checkLimits(
        _ setting: String, _ old: [TrackableID: Resolution], _ new: [TrackableID: Resolution], _ excess: String,
        tightest: (Resolution, Resolution) -> Resolution
    ) throws(CommandFailure) {
        for (id, limit) in old {
            let next = new[id]
            guard next.map({ tightest($0, limit) == $0 }) != true else { continue }
            throw self.refusal(
                setting, limit.argumentText, next?.argumentText ?? "none",
                "subscribers could ask for \(excess) positions than the owner allows")
        }
    }

    private static func checkLimit<Value: Comparable>(
        _ setting: String, _ old: Value?, _ new: Value?
    ) throws(CommandFailure) {
        guard let new, old.map({ new < $0 }) != false else { return }
        throw self.refusal(
            setting, old.map { "\($0)" } ?? "no limit", "\(new)", "it would discard records that are not sent")
    }

    private static func checkZones(_ old: [PrivacyZone], _ new: [PrivacyZone]) throws(CommandFailure) {
        func refusal(_ reason: String) -> CommandFailure {
            self.refusal("zone", self.count(old.count), self.count(new.count), reason)
        }
        for zone in old where !new.contains(where: { $0.name == zone.name && $0.hidesAll(of: zone) }) {
            throw refusal("a privacy zone would be removed, smaller, elsewhere, or no longer omit positions")
        }
        for zone in new where !old.contains(zone) {
            guard old.allSatisfy({ $0.name == zone.name || zone.revealsNothing(inside: $0) }) else {
                throw refusal(
                    "the ZONE events of the new zone would show positions inside another zone that overlaps the new zone"
                )
            }
        }
    }

    private static func count(_ zones: Int) -> String { zones == 1 ? "1 zone" : "\(zones) zones" }

    private static func refusal(_ setting: String, _ old: String, _ new: String, _ reason: String) -> CommandFailure {
        CommandFailure(
            .notAllowed,
            "\(setting) may not change from \(old) to \(new) through the broker: \(reason). Set it on the device with godwit-agent configure, or start the agent with --allow-commands unrestricted"
        )
    }
}

extension PrivacyZone {
    /// Returns `true` if this zone hides every position that `other` hides. If `other` omits positions, this zone must
    /// omit them too, because a zone that only replaces positions by its centre hides less.
    fileprivate func hidesAll(of other: PrivacyZone) -> Bool {
        self.center.distance(to: other.center).value + other.radius.value <= self.radius.value
            && (self.rule == .omit || other.rule == .replace)
    }

    /// Returns `true` if the events about entering and leaving this zone reveal no position inside `other`. This zone
    /// must then be entirely outside of `other`, or contain it. The margin for leaving a zone is included.
    fileprivate func revealsNothing(inside other: PrivacyZone) -> Bool {
        let distance = self.center.distance(to: other.center).value
        return distance > self.outerRadius + other.outerRadius || distance + other.outerRadius <= self.radius.value
    }

    /// The radius in metres outside of which a trackable has left the zone: the zone's radius and its margin.
    private var outerRadius: Double { self.radius.value + self.margin }
}
