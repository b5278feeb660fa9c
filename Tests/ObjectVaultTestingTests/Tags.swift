// Tags of suites, by which `Scripts/test` selects. CONTRIBUTING.md explains each of them.

import Testing

extension Tag {
  @Tag static var faults: Self
  @Tag static var kills: Self
  @Tag static var random: Self
  @Tag static var slow: Self
}
