import ArgumentParser
import GodwitOptions
import TrackingCore

/// Where a gateway keeps what is its own: the same for every command that has to do with it.
struct StateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The gateway's folder, with its tokens and share links. Default: $STATE_DIRECTORY, else $XDG_STATE_HOME/godwit.",
            valueName: "folder"))
    var state: String?

    /// The path of one of its files; the folder is made.
    ///
    /// - Throws: `inputUnreadable` that names the folder that cannot be made.
    func path(for name: String) throws(TrackingError) -> String {
        try StateFolder.path(for: name, in: self.state, option: "--state")
    }
}
