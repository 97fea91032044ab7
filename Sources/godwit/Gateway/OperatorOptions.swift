import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway

/// The options for the operator's name and logo on the page of share links.
struct OperatorOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Show this name on the page of share links, 1 to 64 bytes.", valueName: "text"))
    var operatorName: String?

    @Option(
        help: ArgumentHelp(
            "Show the logo in this PNG or SVG file, at most 256 KiB, on the page of share links.", valueName: "path"))
    var operatorLogo: String?

    /// Returns the operator's name and logo for the page of share links; `nil` if neither option is given.
    ///
    /// - Throws: `invalidConfiguration` for a name or an image that is not allowed; `inputUnreadable` for a file that
    ///   cannot be read.
    func configuration() throws(TrackingError) -> GatewayOperator? {
        guard self.operatorName != nil || self.operatorLogo != nil else { return nil }
        let logo = try self.operatorLogo.map { (path) throws(TrackingError) in
            try InputFile.contents(of: path, upTo: GatewayOperator.maximumLogoBytes, "a logo")
        }
        return try GatewayOperator(name: self.operatorName, logo: logo)
    }
}
