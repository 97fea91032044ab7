import ArgumentParser

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "See it work.")
    func run() async throws {}
}
