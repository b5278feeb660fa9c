// Tags of suites, by which `Scripts/test` selects. CONTRIBUTING.md explains each of them.

import Testing

extension Tag {
  @Tag static var documents: Self
  @Tag static var faults: Self
  @Tag static var kills: Self
  @Tag static var processes: Self
  @Tag static var pure: Self
  @Tag static var random: Self
  @Tag static var sampled: Self
  @Tag static var slow: Self
}
