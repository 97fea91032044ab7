import GodwitOptions
import Testing

/// The names that are suggested for a name that is not known.
@Suite struct NearestNamesTests {
    private static let fleet = ["van-7", "van-8", "van-9", "van-10", "truck", "Jane", "order:17"]

    @Test(arguments: [
        ("vna-7", ["van-7"]), ("van7", ["van-7"]), ("jane", ["Jane"]), ("truk", ["truck"]), ("order:71", ["order:17"]),
        ("bicycle", []), ("x", []), ("", []), ("tr", ["truck"]),
    ])
    func similarNamesAreFound(name: String, nearest: [String]) {
        #expect(Array(NearestNames(to: name, among: Self.fleet).names.prefix(1)) == Array(nearest.prefix(1)))
    }

    @Test func atMostThreeNamesAreSuggestedTheMostSimilarFirst() {
        let nearest = NearestNames(to: "van-11", among: Self.fleet)
        #expect(nearest.names == ["van-10", "van-7", "van-8"])
        #expect(nearest.question == "Did you mean van-10, van-7 or van-8?")
        #expect(NearestNames(to: "bicycle", among: Self.fleet).question == nil)
    }

    @Test func aNameIsSuggestedOnceAndItsLengthDoesNotMatter() {
        let long = String(repeating: "x", count: 100_000)
        #expect(NearestNames(to: "truk", among: ["truck", "truck"]).names == ["truck"])
        #expect(NearestNames(to: long, among: Self.fleet + [long + "y"]).names.count <= 1)
    }
}
