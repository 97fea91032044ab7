import GodwitOptions
import ServiceLifecycle
import TrackingControl
import TrackingCore

/// `godwit-agent status --watch`: asks, draws and takes keys until told to end.
struct StatusWatch: Service {
    let agent: SocketOptions
    let units: DisplayUnits
    let ending: Ending

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.watch() }
    }

    private func watch() async {
        let client: ControlClient
        do throws(TrackingError) { client = try self.agent.connect() } catch { return self.ending.note(error) }
        let output = Output()
        let terminal = Terminal(output)
        defer { terminal.restore() }
        var view = StatusView(units: self.units)
        while !Task.isCancelled {
            do {
                view.heard(try AgentStatus(members: await client.status()))
                for key in terminal.keys {
                    switch view.pressed(key) {
                    case .quit: return
                    case .ask(let name): view.answered(name, try await self.outcome(of: name, client))
                    case nil: continue
                    }
                }
                let size = Terminal.size
                try await terminal.draw(view.lines(width: size.width, height: size.height))
            } catch {
                if !Task.isCancelled { self.ending.note(error) }
                return
            }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    /// What came of a key; the agent may refuse, and that is shown.
    private func outcome(of name: Command.Name, _ client: ControlClient) async throws -> CommandFailure? {
        do {
            _ = try await client.ask(name)
            return nil
        } catch let failure as CommandFailure {
            return failure
        }
    }
}

/// What the live view shows and what its keys mean; a value without output of its own.
struct StatusView {
    /// What a key asks for.
    enum Key: Equatable {
        case quit
        case ask(Command.Name)
    }

    private let units: DisplayUnits
    private var status: AgentStatus?
    private var message = ""

    init(units: DisplayUnits) { self.units = units }

    /// Takes in how things stand.
    mutating func heard(_ status: AgentStatus) { self.status = status }

    /// Takes in what came of a key.
    mutating func answered(_ name: Command.Name, _ failure: CommandFailure?) {
        self.message = "\(name.rawValue): \(failure?.message ?? "done")"
    }

    /// What a key means now.
    func pressed(_ key: Character) -> Key? {
        switch key {
        case "o", "O": .ask(self.status?.isOn == true ? .off : .on)
        case "s", "S": .ask(.sendNow)
        case "t", "T": .ask(self.status?.trip?.state == .active ? .stopTrip : .startTrip)
        case "q", "Q", "\u{04}": .quit
        default: nil
        }
    }

    /// The view, a line each, cut to the terminal's size: what does not fit is counted.
    func lines(width: Int, height: Int) -> [String] {
        var body = self.status.map { StatusText($0, units: self.units).lines } ?? ["asking the agent"]
        // The empty line, the message, the foot, and the cursor's own line.
        let room = max(1, height - 4)
        if body.count > room { body = body.prefix(room - 1) + ["… and \(body.count - room + 1) more"] }
        let isActive = self.status?.trip?.state == .active
        let keys =
            "o \(self.status?.isOn == true ? "off" : "on"), s send now, t \(isActive ? "end" : "start") trip, q quit"
        return (body + ["", StatusText.plain(self.message), keys]).map { String($0.prefix(width)) }
    }
}
