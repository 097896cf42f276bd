"""A run as one trial of `zot ext bisect`: without some of its extensions, on the replies of a recording by their
position, with recorded results in place of calls that are not made. The environment variable `ZOT_TRIAL` names the file
that makes a run a trial; the run reports to another file. Which trials there are and what they mean is in
`agent.bisect`.
"""
