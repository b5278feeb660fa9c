// Tags of suites, by which `Scripts/test` chooses. CONTRIBUTING.md says what each means.

import Testing

extension Tag {
  @Tag static var faults: Self
  @Tag static var kills: Self
  @Tag static var random: Self
  @Tag static var slow: Self
}
