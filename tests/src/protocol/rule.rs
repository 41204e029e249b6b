//! The protective rules of the protocol, each of which a model can leave out.

/// A rule that the barrier or a pass follows. Left out, something else is done instead, as said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Roots are counted at the flip. Without: none is.
    RootsAreCounted,
    /// What was logged is armed at the flip. Without: its unlogged bit stays clear.
    FlipArmsBarriers,
    /// A flip waits for the passes of the one before. Without: it may come while candidates are tried, or decrements made.
    FlipWaitsForPasses,
    /// The log holds the words before the first overwrite. Without: those after it.
    OldWordsAreLogged,
    /// Who first writes to a pending object counts it before. Without: the passes are left to it.
    PendingIsCountedFirst,
    /// The increments leave out what a writer has counted. Without: all entries are counted.
    CountedOnce,
    /// The log of what a writer has counted keeps all old words. Without: unchanged words cancel there, too.
    OldWordsOfCountedStay,
    /// Increments before decrements. Without: roots and old values are released while objects are still being counted.
    IncrementsFirst,
    /// The young are buried when all increments are done. Without: the sweep runs beside them.
    SweepAfterIncrements,
    /// Young means not mature. Without: what has count 0 is promoted.
    YoungMeansNotMature,
    /// A full count stays. Without: it is decremented.
    FullCountsStay,
    /// A dead object that a log names keeps its memory. Without: it is freed at once.
    LateQueue,
    /// A block is logged without its dead. Without: with those at count zero.
    BlockLogSparesTheDead,
    /// A block is logged without what a mark has condemned. Without: with it.
    BlockLogSparesCondemned,
    /// A block is logged without what a mark that has discovered all has not reached. Without: with it.
    BlockLogSparesUnreached,
    /// A candidate is buffered once. Without: at each decrement.
    CandidateOnce,
    /// What is logged is not judged by a trial. Without: it is. (Nothing is pending when trials run, and nothing young
    /// can be reached from what is clean; so this is all there is to "neither logged nor pending".)
    LoggedIsNotJudged,
    /// What has a full count is not judged by a trial. Without: it is.
    FullIsNotJudged,
    /// What a mark has condemned is not judged by a trial. Without: it is.
    CondemnedIsNotJudged,
    /// A candidate that a root of the flip holds is not tried. Without: it is. Saves a trial; the counts would say the same.
    RootedIsNotTried,
    /// A trial counts beside the heap. Without: in the counts, which are not restored if it is cut off.
    TrialsCountAside,
    /// What a trial takes from survivors is shown to the mark. Without: it is not.
    TrialsShowSurvivors,
    /// A mark begins when all counts are done. Without: at any time.
    MarkBeginsBetweenPasses,
    /// What was promoted while marking is marked. Without: it is not.
    PromotedIsMarked,
    /// The mark reads the running log. Without: it does not.
    MarkReadsRunningLog,
    /// The increments show the last log's words to the mark. Without: they do not.
    MarkIsShownLastLog,
    /// The mark does not follow log entries of the dead. Without: it does.
    DeadEntriesAreNotFollowed,
    /// What is at count zero is not shown to the mark. Without: it is.
    UncountedIsNotShown,
    /// What vanishes with the dead is shown to the mark. Without: it is not.
    DeathsAreShown,
    /// What dies while marking keeps its memory. Without: it is freed at once.
    DeadStayWhileMarking,
    /// Discovery ends when all counts are done. Without: at any time.
    DiscoveryEndsBetweenPasses,
    /// The mark condemns only when no death is being released. Without: at any time.
    MarkWaitsForDeaths,
    /// The mark condemns nothing that counting has released. Without: it does.
    ReleasedIsNotCondemned,
    /// Who a mark condemns takes nothing from others that it condemns. Without: it does. Saves work: what is at zero
    /// then is released by counting.
    CondemnedLoseNothing,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 34] = [
        Rule::RootsAreCounted,
        Rule::FlipArmsBarriers,
        Rule::FlipWaitsForPasses,
        Rule::OldWordsAreLogged,
        Rule::PendingIsCountedFirst,
        Rule::CountedOnce,
        Rule::OldWordsOfCountedStay,
        Rule::IncrementsFirst,
        Rule::SweepAfterIncrements,
        Rule::YoungMeansNotMature,
        Rule::FullCountsStay,
        Rule::LateQueue,
        Rule::BlockLogSparesTheDead,
        Rule::BlockLogSparesCondemned,
        Rule::BlockLogSparesUnreached,
        Rule::CandidateOnce,
        Rule::LoggedIsNotJudged,
        Rule::FullIsNotJudged,
        Rule::CondemnedIsNotJudged,
        Rule::RootedIsNotTried,
        Rule::TrialsCountAside,
        Rule::TrialsShowSurvivors,
        Rule::MarkBeginsBetweenPasses,
        Rule::PromotedIsMarked,
        Rule::MarkReadsRunningLog,
        Rule::MarkIsShownLastLog,
        Rule::DeadEntriesAreNotFollowed,
        Rule::UncountedIsNotShown,
        Rule::DeathsAreShown,
        Rule::DeadStayWhileMarking,
        Rule::DiscoveryEndsBetweenPasses,
        Rule::MarkWaitsForDeaths,
        Rule::ReleasedIsNotCondemned,
        Rule::CondemnedLoseNothing,
    ];
}
