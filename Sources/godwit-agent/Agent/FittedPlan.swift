import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// The plan of an agent that starts with run-time changes from earlier runs. Changes that do not fit the options given
/// now are left out, and the others remain.
struct FittedPlan {
    /// A run-time change from an earlier run that is invalid together with the options given now.
    struct Misfit: Equatable {
        /// The name of the run-time change, as shown to people.
        var change: String
        /// The reason why this run-time change cannot be used together with the options given now, as shown to people.
        var reason: String
    }

    /// The plan with the options given now and all run-time changes that are valid together with them.
    let plan: AgentPlan
    /// The run-time changes from earlier runs that are left out of the plan, because they are invalid together with the
    /// options given now.
    let misfits: [Misfit]

    /// Makes the plan from the options given now and the run-time changes kept from earlier runs. Changes that are
    /// invalid are left out.
    ///
    /// - Throws: `ValidationError` or `TrackingError` if the given options are invalid even without any change.
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

    /// Returns the changes that are valid together with the given options. If it is enough to leave out one change,
    /// only that one is missing. Otherwise, changes are added one after the other as long as they are valid together.
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

    /// Makes a plan from the options given now, and only those run-time changes that belong to `parts`.
    ///
    /// - Throws: The reason if these changes are invalid together.
    private static func plan(
        _ given: OptionValues, _ kept: AgentSettings, _ parts: [AgentSettings.Part]
    ) throws -> AgentPlan {
        let plan = try AgentPlan(given: given, kept: kept.only(parts))
        _ = try plan.configuration(for: plan.run.broker.identity())
        return plan
    }

    /// Returns the reason why the run-time changes in `parts` cannot be used together with the given options, as shown
    /// to people; `nil` if they can.
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
    /// A part of the run-time changes of settings. The agent accepts each part as a whole or leaves it out.
    enum Part: Hashable {
        case option(String)
        case tracked
        /// The changes of the broker, the user and the password. They are accepted together or left out together. See
        /// ``AgentSettings/loginOptions``.
        case login

        /// The name of this part of the run-time changes, as shown to people, such as the name of an option.
        var text: String {
            switch self {
            case .option(let name): name
            case .tracked: "tracked trackables"
            case .login: "broker, user and password"
            }
        }
    }

    /// The parts into which all run-time changes are divided. The change that switches the agent on or off belongs to
    /// no part, because it is always valid.
    fileprivate var parts: [Part] {
        let names = self.options.keys.filter { !Self.loginOptions.contains($0) }.sorted()
        return names.map { .option($0) } + (self.tracked == nil ? [] : [.tracked])
            + (names.count == self.options.count ? [] : [.login])
    }

    /// Returns the run-time changes of only these parts. The change that switches the agent on or off remains.
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
