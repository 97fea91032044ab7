import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// An agent's plan from the options given now and those kept run-time changes that are still valid with them. An
/// invalid change is left out and does not undo the others.
struct FittedPlan {
    /// A kept run-time change that is no longer valid with the options given now.
    struct Misfit: Equatable {
        /// The name of the run-time change, for people.
        var change: String
        /// The reason why the change is invalid, for people.
        var reason: String
    }

    /// The plan with the given options and all valid changes.
    let plan: AgentPlan
    /// The kept changes that are left out because they are invalid.
    let misfits: [Misfit]

    /// Makes the plan from the options given now and the changes kept from earlier runs.
    ///
    /// - Throws: `ValidationError` or `TrackingError` if the given options are invalid without any change.
    init(given: OptionValues, kept: AgentSettings) throws {
        let whole = kept.parts
        if let plan = try? Self.plan(given, kept, whole) {
            (self.plan, self.misfits) = (plan, [])
            return
        }
        let taken = Self.fitting(whole) { (try? Self.plan(given, kept, $0)) != nil }
        self.plan = try Self.plan(given, kept, taken)
        self.misfits = whole.filter { !taken.contains($0) }.map { part in
            Misfit(
                change: part.text,
                reason: Self.reason(given, kept, taken + [part]) ?? Self.reason(given, kept, whole) ?? "")
        }
    }

    /// Returns a set of changes that are valid together: all but the first one whose removal makes the rest valid, or
    /// else those that can be added one after the other.
    private static func fitting(
        _ whole: [AgentSettings.Part], _ fits: ([AgentSettings.Part]) -> Bool
    ) -> [AgentSettings.Part] {
        for part in whole {
            let rest = whole.filter { $0 != part }
            if fits(rest) { return rest }
        }
        var taken: [AgentSettings.Part] = []
        // A change may be valid only after a later one was added.
        var left = whole
        while let next = left.first(where: { fits(taken + [$0]) }) {
            taken.append(next)
            left.removeAll { $0 == next }
        }
        return taken
    }

    /// Makes a plan with these changes. Throws if the changes are invalid together.
    private static func plan(
        _ given: OptionValues, _ kept: AgentSettings, _ parts: [AgentSettings.Part]
    ) throws -> AgentPlan {
        let plan = try AgentPlan(given: given, kept: kept.only(parts))
        _ = try plan.configuration(for: plan.run.broker.identity())
        return plan
    }

    /// Returns the reason why these changes are invalid together, for people; `nil` if they are valid.
    private static func reason(
        _ given: OptionValues, _ kept: AgentSettings, _ parts: [AgentSettings.Part]
    ) -> String? {
        do {
            _ = try self.plan(given, kept, parts)
            return nil
        } catch {
            let message = (error as? TrackingError)?.message ?? Run.message(for: error)
            return LiveSettings.redacted(message, kept.options.mapValues(\.after))
        }
    }
}

extension AgentSettings {
    /// A run-time change that is kept or left out as a whole.
    enum Part: Hashable {
        case option(String)
        case tracked
        /// The changes of ``AgentSettings/loginOptions`` together.
        case login

        /// The name of the run-time change, for people.
        var text: String {
            switch self {
            case .option(let name): name
            case .tracked: "tracked trackables"
            case .login: "broker, user and password"
            }
        }
    }

    /// All changes except the switch on or off, which is always valid.
    fileprivate var parts: [Part] {
        let names = self.options.keys.filter { !Self.loginOptions.contains($0) }.sorted()
        return names.map { .option($0) } + (self.tracked == nil ? [] : [.tracked])
            + (names.count == self.options.count ? [] : [.login])
    }

    /// Returns the settings with these changes and without all others.
    fileprivate func only(_ parts: [Part]) -> AgentSettings {
        var settings = self
        settings.options = self.options.filter { name, _ in
            parts.contains(Self.loginOptions.contains(name) ? .login : .option(name))
        }
        if !parts.contains(.login) { settings.login = nil }
        if !parts.contains(.tracked) { settings.tracked = nil }
        return settings
    }
}
